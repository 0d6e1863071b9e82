"""Pure functions that turn records into arrays."""
