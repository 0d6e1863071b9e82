"""The error classes and codes, under the names of `tf.errors`."""

from pipeline.errors import *  # noqa: F403
