"""Values in the plain Python queues: components, shapes and names.

Values are converted by `np.asarray(value, dtype)` alone, and constructor arguments are hardly checked.
"""

import numpy as np

from pipeline import errors


def invalid(text):
    return errors.InvalidArgumentError(None, None, text)


class Values:
    def __init__(self, dtypes, shapes, names):
        dtypes = dtypes if isinstance(dtypes, (list, tuple)) else [dtypes]
        if shapes is None:
            shapes = [None] * len(dtypes)
        elif all(isinstance(d, int) for d in shapes):
            shapes = [shapes]
        self.dtypes = [np.dtype("S" if d in ("string", str) else d) for d in dtypes]
        self.shapes = [None if shape is None else tuple(shape) for shape in shapes]
        self.names = [names] if isinstance(names, str) else names

    def components(self, vals):
        if isinstance(vals, dict) != (self.names is not None):
            wanted = "Queue must have names to enqueue a dictionary"
            raise ValueError(wanted if self.names is None else "You must enqueue a dictionary in a Queue with names")
        if isinstance(vals, dict):
            if sorted(vals, key=str) != sorted(self.names, key=str):
                raise ValueError("Keys in dictionary to enqueue do not match names of Queue.")
            vals = [vals[name] for name in self.names]
        vals = vals if isinstance(vals, (list, tuple)) else [vals]
        if len(vals) != len(self.dtypes):
            raise invalid("Signature mismatch, have: fewer components expected: more")
        return [self.array(v, dtype) for v, dtype in zip(vals, self.dtypes, strict=True)]

    def array(self, value, dtype):
        if dtype.kind not in "SO":
            return np.asarray(value, dtype)
        array = np.empty(np.shape(value), object)
        array[...] = value
        if dtype.kind == "S":
            array[...] = np.vectorize(lambda v: v.encode() if isinstance(v, str) else v, "O", "")(array)
        return array

    def check(self, arrays, lead=()):
        for i, (array, shape) in enumerate(zip(arrays, self.shapes, strict=True)):
            if shape is None:
                continue
            wanted = (*lead, *shape)
            fits = array.ndim == len(wanted) and all(w in (None, n) for w, n in zip(wanted, array.shape, strict=True))
            if not fits:
                text = "[" + ",".join("?" if d is None else str(d) for d in wanted) + "]"
                got = "[" + ",".join(map(str, array.shape)) + "]"
                text = f"Shape mismatch in tuple component {i}. Expected {text}, got {got}"
                raise invalid(text)

    def container(self, values):
        if self.names is not None:
            return dict(zip(self.names, values, strict=True))
        return values[0] if len(values) == 1 else values

    def batch(self, rows, i):
        shape = [max([row[i].shape[k] for row in rows], default=d or 0) for k, d in enumerate(self.shapes[i])]
        kind = self.dtypes[i].kind
        out = np.zeros((len(rows), *shape), object if kind == "S" else self.dtypes[i])
        if kind == "S":
            out[...] = b""
        for k, row in enumerate(rows):
            out[(k, *map(slice, row[i].shape))] = row[i] if row[i].ndim or kind not in "SO" else row[i][()]
        return out

    def row(self, vals):
        arrays = self.components(vals)
        self.check(arrays)
        return [a.copy() for a in arrays]

    def rows(self, vals):
        arrays = self.components(vals)
        if not all(a.ndim for a in arrays):
            raise ValueError("Shape () must have rank at least 1")
        rows = len(arrays[0])
        self.check(arrays, (rows,))
        if any(len(a) != rows for a in arrays):
            raise invalid("All input tensors must have the same size in the 0th dimension.")
        return [[a[k : k + 1].copy().reshape(a.shape[1:]) for a in arrays] for k in range(rows)]

    def check_batch(self, n, call):
        if n < 0:
            raise invalid(f"{call} requested {n} < 0 elements")
        if None in self.shapes:
            calls = "DequeueMany requires" if self.kind == "PriorityQueue" else "DequeueMany and DequeueUpTo require"
            raise invalid(f"{self.many_kind}'s {calls} the components to have specified shapes.")
