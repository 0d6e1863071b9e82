"""Runs the user's function in the processes or threads of an executor; results come in order."""
