"""Python values as tensors: constants, placeholders, tensor lists, casts, sparse tensors, static values."""
