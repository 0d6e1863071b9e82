"""What users compose: recipes of sources and transformations."""
