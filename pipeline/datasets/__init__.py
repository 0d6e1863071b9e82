"""Datasets and their iterators."""
