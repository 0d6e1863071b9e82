"""Reports of a run: what each stage does, which one limits it, and where that is shown."""
