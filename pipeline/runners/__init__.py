"""Runs enqueue ops in threads and stops all of them together."""
