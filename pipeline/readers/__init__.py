"""Takes file names from a queue and returns their records."""
