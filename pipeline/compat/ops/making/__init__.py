"""How an op is made from a line: its inputs, dtypes, shape rule and kernel."""
