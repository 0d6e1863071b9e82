"""Arithmetic, comparisons, reductions, products, operators."""
