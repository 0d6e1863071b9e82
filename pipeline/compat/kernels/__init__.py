"""What ops compute, as functions of NumPy arrays; knows no graph."""
