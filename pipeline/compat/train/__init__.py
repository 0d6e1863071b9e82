"""Queues, runners, producers, batches and readers in a graph; monitored sessions."""
