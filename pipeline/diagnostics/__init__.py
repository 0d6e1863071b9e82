"""Facts for error messages: the threads that fill a queue, how they ended, and the caller's line."""
