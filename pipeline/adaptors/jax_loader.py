"""DataLoader of `pipeline.jax`: batches on JAX devices, some copied ahead."""

from __future__ import annotations

from typing import Any

from pipeline.adaptors.jax_arrays import array_for, jax
from pipeline.adaptors.loader import Loader
from pipeline.adaptors.rounds import nominal_batch
from pipeline.adaptors.structure import mapped
from pipeline.datasets.dataset import Dataset
from pipeline.datasets.iterator import DatasetIterator
from pipeline.errors import FailedPreconditionError
from pipeline.keywords import tells_keywords
from pipeline.logs import logger
from pipeline.nest import Nest, is_dataclass, make_like, parts_of
from pipeline.stages.index import ENDLESS

_log = logger("pipeline.batches")


class DataLoader(Loader):
    """Give a dataset's batches as JAX arrays, on one device or sharded over several.

    Each `iter` begins the next epoch, even if you left the last one early: epoch i is `dataset.epoch(i)`, with its own
    order. Some batches are on their way to the device while your step works; `state_dict` does not count them. The
    loader owns its arrays' memory, so nothing changes them later.

    Without `jax_enable_x64` JAX has no 64-bit numbers: int64 becomes int32, float64 becomes float32, and an integer
    that does not fit is an error. The log names these components.

    Thread safety: use it from one thread at a time.

    Examples:
        >>> data = pipeline.arrays(np.arange(6, dtype="int32")).batch(4)
        >>> [batch.tolist() for batch in pipeline.jax.DataLoader(data)]
        [[0, 1, 2, 3], [4, 5]]
    """

    @tells_keywords
    def __init__(self, data: Dataset[Any] | DatasetIterator[Any], device: Any = None, *, prefetch: int = 2) -> None:
        """Make a loader; it starts with the first batch.

        Args:
            data: A dataset of batches, such as `source.batch(128)`; or its iterator, for one epoch. If JAX has
                several processes and the dataset has no `shard`, each reads its part.
            device: A `jax.Device` or `jax.sharding.Sharding`; a structure like the batch's, where one value may
                stand for a whole part; or None for JAX's default. If a sharding spans several processes, each passes
                its rows of the global array.
            prefetch: Number of batches on the device in addition to your current one; at most 64.

        Raises:
            TypeError: `data` has no batches, `device` is something else, or `prefetch` is not an integer.
            ValueError: `prefetch` is negative or above 64.

            When a batch is taken: TypeError, if JAX has no such dtype, as for strings; InvalidArgumentError, if an
            integer does not fit; ValueError, if `device` is not a possible layout for a component. Each names the
            component.
        """
        super().__init__(data, prefetch)
        self._device = _as_tree(device)
        for each in jax.tree.leaves(self._device):
            if not isinstance(each, (jax.Device, jax.sharding.Sharding)):
                raise TypeError(f"device must be a jax.Device or a jax.sharding.Sharding, not {each!r:.80}")
        leaves = jax.tree.leaves(self._device)
        self._spread = not all(getattr(each, "is_fully_addressable", True) for each in leaves)
        self._told: set[str] = set()  # dtype changes already logged

    def _shard(self) -> tuple[int, int]:
        return jax.process_index(), jax.process_count()

    def _begin(self) -> None:
        batch = nominal_batch(self.data) if self._spread and isinstance(self.data, Dataset) else None
        count = None if batch is None else batch.inputs[0].length()
        if batch is not None and count not in (None, ENDLESS) and count % batch.size and not batch.drop_remainder:
            text = (
                f"{self!r}: the last batch has {count % batch.size:,} of {batch.size:,} examples, but a sharding over "
                f"several processes needs the same number from each: write .batch({batch.size}, drop_remainder=True)"
            )
            raise FailedPreconditionError(None, None, text)
        super()._begin()

    def _convert(self, batch: Any) -> Any:
        ready = self._prepared(batch)
        try:
            return self._put(ready)
        except (ValueError, AssertionError) as error:  # JAX asserts the rank of a sharding
            raise self._misfit(ready, error) from error

    def _prepared(self, batch: Any) -> Any:
        """Return a batch as JAX arrays; log each changed dtype once."""
        changed = []

        def prepare(value: Any, name: str) -> Any:
            array = array_for(value, name)
            before = getattr(value, "dtype", array.dtype).newbyteorder("=")
            if array.dtype != before:
                changed.append(f"{name or 'the batch'} from {before} to {array.dtype}")
            return array

        ready = mapped(prepare, batch)
        new = [each for each in changed if each not in self._told]
        if new:
            self._told.update(new)
            _log.warning("%r: jax_enable_x64 is not set, so JAX converts %s", self, ", ".join(new))
        return ready

    def _put(self, batch: Any) -> Any:
        """Return a batch on the devices."""
        put = _global if self._spread else jax.device_put
        if not _has_dataclass(batch):
            return put(batch, self._device)
        nest, tree = Nest(batch, True), Nest(_as_tree(batch), True)
        return nest.pack(tree.flatten(put(tree.pack(nest.flatten(batch)), self._device)))

    def _misfit(self, batch: Any, error: Exception) -> Exception:
        """Return the error for an impossible layout, with the component if it can be found."""
        if not isinstance(self._device, (jax.Device, jax.sharding.Sharding)):
            return error
        nest = None if parts_of(batch) is None else Nest(batch, True)
        pairs = [("", batch)] if nest is None else zip(nest.names, nest.flatten(batch), strict=True)
        for name, value in pairs:
            try:
                (_global if not self._device.is_fully_addressable else jax.device_put)(value, self._device)
            except (ValueError, AssertionError) as reason:
                where = f"component {name!r}" if name else "the batch"
                return ValueError(f"{where} of shape {value.shape} cannot be laid out as {self._device}: {reason}")
        return error


def _global(batch: Any, device: Any) -> Any:
    """Make arrays over the devices of several processes from each process's rows."""

    def put(place: Any, part: Any) -> Any:
        if getattr(place, "is_fully_addressable", True):
            return jax.device_put(part, place)
        return jax.tree.map(lambda array: jax.make_array_from_process_local_data(place, array), part)

    return jax.tree.map(put, device, batch, is_leaf=lambda place: place is None)


def _has_dataclass(value: Any) -> bool:
    return is_dataclass(value) or any(map(_has_dataclass, parts_of(value) or ()))


def _as_tree(value: Any) -> Any:
    """Replace dataclasses, which are opaque to JAX, by tuples."""
    if isinstance(value, dict):
        return {key: _as_tree(part) for key, part in value.items()}
    parts = parts_of(value)
    if parts is None:
        return value
    return make_like(tuple if is_dataclass(value) else type(value), [_as_tree(part) for part in parts])
