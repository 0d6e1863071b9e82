"""Turns records into arrays; pure functions."""
