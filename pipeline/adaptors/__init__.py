"""Batches as arrays of other libraries, in epochs and on devices."""
