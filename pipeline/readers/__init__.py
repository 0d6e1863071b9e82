"""Takes file names from a queue and gives their records."""
