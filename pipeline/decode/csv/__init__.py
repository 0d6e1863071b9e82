"""decode_csv. Checks arguments in decode_csv.py, splits one record in record.py, a block of them in block.py."""
