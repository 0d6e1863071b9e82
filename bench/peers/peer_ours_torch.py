"""queue-runner beside PyTorch: batches as tensors, by pipeline.torch, and a dataset of Hugging Face."""

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
        source = pipeline.huggingface(arrow(directory), shuffle=True, seed=1, num_epochs=None)
        return {"huggingface": lambda: pipeline.batch(source, BATCH)}
    if work.startswith("decode"):
        return {"batch, as tensors": lambda: endless(pipeline.torch.DataLoader(decoded(workers(work))))}
    return {}


def decoded(count):
    options = {"workers": pipeline.processes(count)} if count > 1 else {}
    return pipeline.batch(range(DECODED), BATCH, capacity=8 * BATCH, function=decode, **options)


if __name__ == "__main__":
    main("ours", pipeline.__version__, ways)
    os._exit(0)  # without waiting for workers to end
