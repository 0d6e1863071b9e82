"""Iterator states in files, and comparisons between a state and the program that loads it."""
