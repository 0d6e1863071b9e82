"""Environment variables read by the adaptors' libraries when they are imported, set before any test imports them."""

import os

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")
os.environ.setdefault("KERAS_BACKEND", "jax")  # TensorFlow imports Keras, if it comes first
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
