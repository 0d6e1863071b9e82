"""The graph layer: tensors, operations, conversion of values, and the sessions that run them."""
