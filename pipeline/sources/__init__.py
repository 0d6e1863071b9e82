"""Repeatable example sources: arrays, tables, files."""
