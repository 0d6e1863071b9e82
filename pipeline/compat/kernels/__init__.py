"""What ops compute, as functions on NumPy arrays; knows nothing of graphs."""
