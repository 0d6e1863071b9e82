"""Says what a queue may hold and what its calls return; the compiled engine below moves slots and bytes."""
