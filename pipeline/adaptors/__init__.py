"""What the batches of a loop become in other libraries: their arrays, in epochs, on their devices."""
