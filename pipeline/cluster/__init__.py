"""Workers, readers and queues on the machines of a Ray cluster."""

from pipeline.cluster.choice import workers

__all__ = ["workers"]
