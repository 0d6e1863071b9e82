"""Workers, readers, queues and batch consumers on a Ray cluster's machines."""

from pipeline.cluster.choice import workers
from pipeline.cluster.queue import RemoteQueue
from pipeline.cluster.reading import read
from pipeline.cluster.serving import consume, serve

__all__ = ["RemoteQueue", "consume", "read", "serve", "workers"]
