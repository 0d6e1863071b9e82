"""datasets, from Hugging Face: its own batches as NumPy arrays."""

import os

os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}

import datasets
import pyarrow
from measuring import endless, main
from workloads import BATCH, doubled, path, paths, rows

datasets.disable_progress_bars()


def ways(directory, work):
    if work == "arrow":
        data = arrow(directory).with_format("numpy")
        return {"shuffle, iter": lambda: shuffled(data)}
    if work == "once":
        data = once(directory)
        return {"map, shuffle, iter": lambda: (batch["x"] for batch in shuffled(data))}
    if work in ("parquet", "tar"):
        data = {"parquet": parquet, "tar": shards}[work](directory).with_format("numpy")
        return {"streaming, iter": lambda: endless(lambda: data.iter(BATCH, drop_last_batch=True))}
    return {}


def shuffled(data):
    """Yield another order in each epoch."""
    for epoch in range(1 << 62):
        yield from data.shuffle(seed=epoch).iter(BATCH, drop_last_batch=True)


def parquet(directory):
    return datasets.load_dataset("parquet", data_files=paths(directory, "parquet"), split="train", streaming=True)


def once(directory):
    """Return rows made by a function, in the file that `map` keeps."""
    given = rows(directory, "f32_784")
    column = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(given.reshape(-1)), given.shape[1])
    data = datasets.Dataset(pyarrow.table({"x": column})).with_format("numpy")
    return data.map(lambda row: {"x": doubled(row["x"])}, cache_file_name=path(directory, "once.arrow"))


def arrow(directory):
    with pyarrow.OSFile(path(directory, "arrow")) as file:
        return datasets.Dataset(pyarrow.ipc.open_file(file).read_all())


def shards(directory):
    data = datasets.load_dataset("webdataset", data_files=paths(directory, "tar"), split="train", streaming=True)
    return data.select_columns(["npy", "cls"])


if __name__ == "__main__":
    main("datasets", datasets.__version__, ways)
