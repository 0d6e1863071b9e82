"""Threads and flags safe in signal handlers and forks."""
