"""Queues that a thread fills with names, numbers and rows, epoch after epoch."""
