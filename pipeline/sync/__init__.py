"""Threads, locks and flags that survive signal handlers and forks."""
