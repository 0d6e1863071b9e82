"""Readers: take file names from a queue and return their records."""
