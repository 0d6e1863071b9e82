"""Queues and queue runners in a graph, and block execution."""
