"""Images as models take them: boxes cut out of files, resized and normalised in one pass."""
