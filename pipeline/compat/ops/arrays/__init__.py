"""Shapes, slices, joins, gathers."""
