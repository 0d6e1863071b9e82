"""Array ops: shapes, slices, concatenation, indices, order."""
