"""Make an op from one line: its inputs, dtypes, shape rule and kernel."""
