"""`python -m pipeline feed | check`."""
