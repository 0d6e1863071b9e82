"""cond, case, while_loop, map_fn, asserts, printing, py_func."""
