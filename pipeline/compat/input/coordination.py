"""Coordinator and LooperThread, which know nothing of graphs: the native ones."""
