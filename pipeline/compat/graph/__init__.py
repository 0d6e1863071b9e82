"""Graphs: tensors, operations, their dtypes and shapes, names, scopes and devices."""
