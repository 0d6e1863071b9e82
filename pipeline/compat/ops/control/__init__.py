"""cond, map_fn, scan, asserts, printing, py_func."""
