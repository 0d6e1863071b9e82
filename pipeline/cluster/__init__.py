"""Workers, readers, queues and consumers of batches on the machines of a Ray cluster."""

from pipeline.cluster.choice import workers
from pipeline.cluster.queue import RemoteQueue
from pipeline.cluster.reading import read
from pipeline.cluster.serving import consume, serve

__all__ = ["RemoteQueue", "consume", "read", "serve", "workers"]
