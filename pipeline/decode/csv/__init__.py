"""decode_csv: fields, digits, numbers, a block at a time."""
