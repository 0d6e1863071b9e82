"""Run enqueue ops in threads and stop all threads together."""
