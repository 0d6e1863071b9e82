"""read_file and gfile."""
