"""Crop, resize and normalise image files in one pass, in the form a model expects."""
