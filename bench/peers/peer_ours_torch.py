"""queue-runner with PyTorch: batches as tensors, by pipeline.torch, and a Hugging Face dataset."""

import os

from measuring import endless, main, workers
from peer_datasets import arrow
from peer_ours import shuffled
from workloads import BATCH, DECODED, WORKS, decode, rows

import pipeline
import pipeline.torch


def ways(directory, work):
    if pool := WORKS[work].pool:
        data = rows(directory, work)
        return {"shuffle_batch, as tensors": lambda: endless(pipeline.torch.DataLoader(shuffled(data, pool)))}
    if work == "arrow":
        examples = pipeline.huggingface(arrow(directory), shuffle=True, seed=1, num_epochs=None).batch(BATCH)
        return {"huggingface": lambda: iter(examples)}
    if work.startswith("decode"):
        return {"batch, as tensors": lambda: endless(pipeline.torch.DataLoader(decoded(workers(work))))}
    return {}


def decoded(count):
    workers = pipeline.processes(count) if count > 1 else None
    return pipeline.dataset(range(DECODED)).map(decode, workers=workers).batch(BATCH)


if __name__ == "__main__":
    main("ours", pipeline.__version__, ways)
    os._exit(0)  # without waiting for workers
