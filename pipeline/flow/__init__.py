"""How a dataset runs: streams of blocks, the functions that make examples, who calls them, and positions."""
