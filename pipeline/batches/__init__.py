"""From a source of examples to a loop over batches."""
