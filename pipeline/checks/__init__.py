"""Checks for your own datasets and sources: exact resume, and identical runs."""
