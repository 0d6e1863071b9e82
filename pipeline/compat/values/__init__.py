"""Python values as tensors: constants, placeholders, lists of tensors, casts, sparse tensors, static values."""
