"""tf.train input functions: producers, readers, batch functions."""
