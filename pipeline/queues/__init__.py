"""Says what may be in a queue and what its calls answer; the engine below moves slots and bytes."""
