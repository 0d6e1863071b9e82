"""parse_example: locates the features in serialized Examples (locate.py) and gathers their values (gather.py)."""
