"""parse_example: features of serialized Examples, a block at a time."""
