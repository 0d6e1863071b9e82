"""Dataset steps: the nodes of a recipe, and the indexes and streams that run them. Each idea has a file."""
