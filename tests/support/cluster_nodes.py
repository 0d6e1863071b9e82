"""The cluster's size in tests, and whether to run short ones."""

import os

SHORT = bool(os.environ.get("SHORT"))
MEMORY = 150 << 20  # each node's object store
