"""The size of the cluster in tests, and whether they shall be short."""

import os

SHORT = bool(os.environ.get("SHORT"))
MEMORY = 150 << 20  # of the object store of each node
