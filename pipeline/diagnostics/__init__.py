"""Knows who fills a queue, how each thread ended and where the caller stands, so that an error can say why."""
