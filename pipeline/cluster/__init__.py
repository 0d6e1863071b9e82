"""Workers, readers and queues on the machines of a Ray cluster."""

from pipeline.cluster.choice import workers
from pipeline.cluster.reading import read

__all__ = ["read", "workers"]
