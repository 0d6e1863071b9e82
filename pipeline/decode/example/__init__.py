"""parse_example: locate features in serialised Examples (locate.py) and gather their values (gather.py)."""
