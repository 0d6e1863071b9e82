"""A function of the caller's in the processes or threads of an executor; results in order."""
