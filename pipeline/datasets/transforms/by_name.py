"""The files of transformations, each imported when it is first used: all at once take 9 ms, a batch alone 2."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for type checkers: at run time any file is found
    from pipeline.datasets.transforms import batch as batch
    from pipeline.datasets.transforms import bucket as bucket
    from pipeline.datasets.transforms import checksum as checksum
    from pipeline.datasets.transforms import concatenate as concatenate
    from pipeline.datasets.transforms import enumerate as enumerate
    from pipeline.datasets.transforms import filter as filter
    from pipeline.datasets.transforms import flat_map as flat_map
    from pipeline.datasets.transforms import interleave as interleave
    from pipeline.datasets.transforms import map as map
    from pipeline.datasets.transforms import mix as mix
    from pipeline.datasets.transforms import pack as pack
    from pipeline.datasets.transforms import prefetch as prefetch
    from pipeline.datasets.transforms import repeat as repeat
    from pipeline.datasets.transforms import sample as sample
    from pipeline.datasets.transforms import shard as shard
    from pipeline.datasets.transforms import shuffle as shuffle
    from pipeline.datasets.transforms import shuffle_all as shuffle_all
    from pipeline.datasets.transforms import skip as skip
    from pipeline.datasets.transforms import steps as steps
    from pipeline.datasets.transforms import take as take
    from pipeline.datasets.transforms import unbatch as unbatch
    from pipeline.datasets.transforms import window as window
    from pipeline.datasets.transforms import zip as zip


def __getattr__(name: str) -> Any:
    if name.startswith("_"):  # what tools ask modules for
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = globals()[name] = importlib.import_module(f"{__package__}.{name}")
    return module
