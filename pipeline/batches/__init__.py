"""Batch functions: from a source to a loop over batches."""
