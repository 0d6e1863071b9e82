"""Drop-ins: TensorFlow's names over queue-runner's machinery."""
