"""What programs use around a graph: flags, logging, the main function, switches, strings."""
