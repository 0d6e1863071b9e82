"""A file for each transformation of a dataset."""
