"""Helpers of programs around a graph: flags, logging, the main function, switches, strings."""
