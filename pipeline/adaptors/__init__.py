"""Batches as arrays for other libraries, in epochs and on devices."""
