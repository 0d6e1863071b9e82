"""Python values as tensors: constants, packing, casts, static values, sparse tensors."""
