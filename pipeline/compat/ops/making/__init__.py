"""How an op is made from one line: inputs, dtypes, shape rule, kernel."""
