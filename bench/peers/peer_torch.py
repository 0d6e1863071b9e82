"""torch: DataLoader with 0, 1 and 2 workers, and with whole batches of indices."""

import os
import warnings

import torch
import webdataset
from measuring import by_pillow, by_simplejpeg, endless, lines, main, numbers, records, split, workers
from peer_datasets import arrow, parquet
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import BatchSampler, DataLoader, Dataset, IterableDataset, RandomSampler, TensorDataset
from workloads import BATCH, CHAINS, DECODED, WORKS, Line, TokenRow, cut, decode, jpegs, padded_rows, path, paths, rows

# Workers share tensors as files: passed as descriptors they soon hit the limit of open files.
torch.multiprocessing.set_sharing_strategy("file_system")


def ways(directory, work):
    if work.startswith("decode"):
        counts = (0, 1) if work == "decode_1" else (workers(work),)
        return {name(n): lambda n=n: loader(Decoded(), n) for n in counts}
    if work == "jpeg":
        readers = {"Pillow": by_pillow, "simplejpeg": by_simplejpeg, "torchvision": by_torchvision}
        return {
            f"{way}, {n} workers": lambda read=read, n=n: loader(Files(jpegs(directory), read), n, shuffle=True)
            for way, read in readers.items()
            for n in (0, 2)
        }
    if WORKS[work].pool:
        data = Rows(torch.from_numpy(rows(directory, work)))
        made = {name(n): lambda n=n: loader(data, n, shuffle=True, collate_fn=first) for n in (0, 1, 2)}
        made["BatchSampler, 0 workers"] = lambda: by_batch(data)
        return made
    if work == "padded":
        data = [torch.from_numpy(row) for row in split(*padded_rows(directory))]
        return {name(n): lambda n=n: loader(data, n, collate_fn=pad) for n in (0, 1, 2)}
    if work in CHAINS:
        return {}
    if work in ("indexed", "tokens"):
        name_of = path(directory, work)
        data, options = (Line(name_of), {"collate_fn": list}) if work == "indexed" else (TokenRow(name_of), {})
        return {name(n): lambda n=n: loader(data, n, shuffle=True, **options) for n in (0, 1, 2)}
    if work in ("parquet", "arrow", "tar"):
        return by_library(directory, work)
    read, collate = {"lines": (lines, list), "tfrecord": (records, list), "csv": (table, None)}[work]
    # Two workers would both read the one file.
    return {name(n): lambda n=n: loader(Read(read, path(directory, work)), n, collate_fn=collate) for n in (0, 1)}


def by_library(directory, work):
    """Return loaders over other libraries' datasets: Hugging Face's, and webdataset."""
    if work == "tar":
        return {f"{name(n)}, webdataset": lambda n=n: loader(shards(directory), n) for n in (0, 2)}
    data = {"parquet": parquet, "arrow": arrow}[work](directory).with_format("torch")
    options = {"shuffle": True} if work == "arrow" else {}
    return {f"{name(n)}, datasets": lambda n=n: loader(data, n, **options) for n in (0, 2)}


def shards(directory):
    data = webdataset.WebDataset(paths(directory, "tar"), shardshuffle=False)
    return data.decode().to_tuple("npy", "cls")


def name(count):
    return f"DataLoader, {count} worker{'' if count == 1 else 's'}"


def loader(data, count, **options):
    return endless(
        DataLoader(
            data,
            BATCH,
            num_workers=count,
            drop_last=True,
            persistent_workers=count > 0,
            multiprocessing_context="fork" if count else None,
            **options,
        )
    )


class Rows(TensorDataset):
    """A tensor's rows, without tuples."""

    def __getitem__(self, index):
        return self.tensors[0][index]


def first(items):
    return torch.stack(items)


def by_batch(data):
    """Load whole batches of indices, so that one call gathers the rows."""
    return endless(DataLoader(data, None, sampler=BatchSampler(RandomSampler(data), BATCH, True)))


def pad(items):
    return pad_sequence(items, batch_first=True)


def table(name):
    return map(numbers, lines(name))


class Read(IterableDataset):
    """A file's contents, read by a function."""

    def __init__(self, read, name):
        self.read, self.name = read, name

    def __iter__(self):
        return iter(self.read(self.name))


class Files(Dataset):
    """Files read by a function, with their labels."""

    def __init__(self, files, read):
        (self.names, self.labels), self.read = files, read

    def __len__(self):
        return len(self.names)

    def __getitem__(self, index):
        return self.read(self.names[index]), self.labels[index]


def by_torchvision(name):
    from torchvision.io import decode_jpeg, read_file  # imported late, as only images need it

    return cut(decode_jpeg(read_file(name)).permute(1, 2, 0))


class Decoded(Dataset):
    """The decoded numbers, in order."""

    def __len__(self):
        return DECODED

    def __getitem__(self, index):
        return decode(index)


if __name__ == "__main__":
    warnings.filterwarnings("ignore", "This DataLoader will create 4")  # on a machine with two cores
    main("torch", torch.__version__, ways)
    os._exit(0)  # without waiting seconds for the workers
