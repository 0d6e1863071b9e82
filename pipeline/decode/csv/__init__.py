"""decode_csv: arguments are checked in decode_csv.py, single records split in record.py, blocks in block.py."""
