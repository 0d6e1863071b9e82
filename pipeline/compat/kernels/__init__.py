"""Op computations as functions on NumPy arrays, independent of graphs."""
