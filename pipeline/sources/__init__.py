"""Sources of examples that can be read again and again: arrays, tables, files."""
