"""parse_example: locate features in serialized Examples (locate.py) and gather their values (gather.py)."""
