"""Decodes images to arrays and encodes arrays as images, by Pillow and simplejpeg."""
