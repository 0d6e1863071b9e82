"""The computations of ops, as functions on NumPy arrays, independent of graphs."""
