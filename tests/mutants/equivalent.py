"""Mutants that run like the original, each with the reason: (file, line before, line after): why."""

EQUIVALENT: dict[tuple[str, str, str], str] = {}
