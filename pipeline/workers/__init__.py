"""Executors that run the user's function in processes or threads; results keep their order."""
