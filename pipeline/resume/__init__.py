"""States of loops as files, and what a state and the program that loads it disagree about."""
