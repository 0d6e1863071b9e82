"""The steps of a dataset: nodes of a recipe, and the indexes and streams that run them. Each idea has a file."""
