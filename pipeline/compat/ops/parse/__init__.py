"""Ops over decode/."""
