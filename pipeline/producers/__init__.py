"""Queues filled by a thread with names, numbers and rows, epoch after epoch."""
