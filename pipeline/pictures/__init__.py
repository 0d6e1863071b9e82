"""Numbers as SVG: tanks and their levels. It knows no queue and no loop."""
