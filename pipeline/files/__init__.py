"""Reads and writes files and URLs, plain or compressed, and cuts records out of them, independent of queues."""
