"""Monitored sessions and their hooks."""
