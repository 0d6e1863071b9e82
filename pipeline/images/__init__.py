"""Images as arrays: resize, crop, flip, and colours."""
