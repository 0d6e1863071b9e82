"""Program helpers: flags, logging, the main function, switches, strings."""
