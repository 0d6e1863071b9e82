"""Tables from keys to numbers and back."""
