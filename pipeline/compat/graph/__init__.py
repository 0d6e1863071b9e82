"""What a graph is: tensors, operations, shapes, names, scopes."""
