"""Images to arrays and back, by Pillow."""
