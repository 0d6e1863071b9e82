"""Run parts of a graph: fetches, feeds, plan, steps."""
