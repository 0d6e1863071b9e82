"""Reads and writes protocol buffer messages without protobuf."""
