"""The nodes by name. Each node's file is imported at its first use: all files take 9 ms, batch alone 2 ms."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipeline.stages.bucket import Bucket as Bucket
    from pipeline.stages.bucket import boundaries_up_to as boundaries_up_to
    from pipeline.stages.cache import Cache as Cache
    from pipeline.stages.checksum import Checksum as Checksum
    from pipeline.stages.functions import CallSettings as CallSettings
    from pipeline.stages.functions import Filter as Filter
    from pipeline.stages.functions import FlatMap as FlatMap
    from pipeline.stages.functions import Map as Map
    from pipeline.stages.groups import Batch as Batch
    from pipeline.stages.groups import Window as Window
    from pipeline.stages.interleave import Interleave as Interleave
    from pipeline.stages.lengths import Lengths as Lengths
    from pipeline.stages.mix import Mix as Mix
    from pipeline.stages.pack import Pack as Pack
    from pipeline.stages.packed import Packing as Packing
    from pipeline.stages.padding import PadTo as PadTo
    from pipeline.stages.part import Part as Part
    from pipeline.stages.passes import Concatenate as Concatenate
    from pipeline.stages.passes import Enumerated as Enumerated
    from pipeline.stages.passes import Repeat as Repeat
    from pipeline.stages.pool import Shuffle as Shuffle
    from pipeline.stages.prefetch import Prefetched as Prefetched
    from pipeline.stages.schedule import Schedule as Schedule
    from pipeline.stages.selection import Shard as Shard
    from pipeline.stages.selection import ShuffleAll as ShuffleAll
    from pipeline.stages.selection import Skip as Skip
    from pipeline.stages.selection import Take as Take
    from pipeline.stages.selection import WeightedSample as WeightedSample
    from pipeline.stages.sort import Sort as Sort
    from pipeline.stages.token_batches import TokenBatch as TokenBatch
    from pipeline.stages.unbatch import Unbatch as Unbatch
    from pipeline.stages.zipped import Zip as Zip

_ROOM = __name__.rpartition(".")[0]

_FILES = {
    "bucket": ("Bucket", "boundaries_up_to"),
    "cache": ("Cache",),
    "checksum": ("Checksum",),
    "functions": ("CallSettings", "Filter", "FlatMap", "Map"),
    "groups": ("Batch", "Window"),
    "interleave": ("Interleave",),
    "lengths": ("Lengths",),
    "mix": ("Mix",),
    "pack": ("Pack",),
    "packed": ("Packing",),
    "padding": ("PadTo",),
    "part": ("Part",),
    "passes": ("Concatenate", "Enumerated", "Repeat"),
    "pool": ("Shuffle",),
    "prefetch": ("Prefetched",),
    "schedule": ("Schedule",),
    "selection": ("Shard", "ShuffleAll", "Skip", "Take", "WeightedSample"),
    "sort": ("Sort",),
    "token_batches": ("TokenBatch",),
    "unbatch": ("Unbatch",),
    "zipped": ("Zip",),
}
_FILE_OF = {name: file for file, names in _FILES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _FILE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(importlib.import_module(f"{_ROOM}.{_FILE_OF[name]}"), name)
    return found
