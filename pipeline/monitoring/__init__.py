"""What the queues of a run did and which stage holds it back; TensorBoard's event files."""
