"""Seeds and their orders."""
