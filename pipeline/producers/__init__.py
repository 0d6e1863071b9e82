"""Queues filled by a thread with names, numbers or rows, for several epochs."""
