"""Seeds, and the orders that follow from them."""
