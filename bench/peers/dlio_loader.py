"""A data loader for DLIO that reads with queue-runner. `dlio.py` runs it.

Like DLIO's own readers, it reads and parses each example, and hands over one prepared array instead. Two threads read
volumes; PyTorch has the four processes of DLIO's configuration.
"""

import os

import numpy as np
from dlio_benchmark.common.enumerations import DatasetType, FormatType, Shuffle
from dlio_benchmark.data_loader.base_data_loader import BaseDataLoader

import pipeline

FEATURES = {"image": pipeline.FixedLenFeature([], "string"), "size": pipeline.FixedLenFeature([], "int64")}


class Loader(BaseDataLoader):
    """DLIO calls `read` once, then `next` and `finalize` in each epoch.

    `verify=False` for npz files if the environment has DLIO_UNCHECKED.
    """

    def __init__(self, format_type, dataset_type, epoch_number):
        super().__init__(format_type, dataset_type, epoch_number, None)
        self._data = None

    def read(self):
        args = self._args
        files = args.file_list_train if self.dataset_type is DatasetType.TRAIN else args.file_list_eval
        order = {"shuffle": args.file_shuffle is not Shuffle.OFF, "seed": args.seed}
        order["shard"] = args.my_rank, args.comm_size
        prepared = args.resized_image
        if self.format_type is FormatType.NPZ:
            volumes = pipeline.npz(files, ["x"], verify="DLIO_UNCHECKED" not in os.environ)
            numbers = pipeline.arrays(np.arange(len(files)), **order)

            def read(number):
                assert volumes[number]["x"].ndim == 3
                return prepared

            batches = numbers.map(read, workers=2).batch(self.batch_size, drop_remainder=True)
        else:
            records = pipeline.tfrecord(files, FEATURES, **order)
            if args.sample_shuffle is not Shuffle.OFF:
                records = records.shuffle(args.shuffle_size, seed=args.seed)
            batches = records.batch(self.batch_size, drop_remainder=True)
        self._data = batches.prefetch(args.prefetch_size)

    def next(self):
        with iter(self._data) as batches:
            for batch in batches:
                yield batch if self.format_type is FormatType.NPZ else self._args.resized_image

    def finalize(self):
        pass
