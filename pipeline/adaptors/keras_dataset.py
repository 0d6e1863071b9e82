"""PyDataset of `pipeline.keras`: batches for Keras's `fit`, `evaluate` and `predict`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from pipeline.adaptors.loader import Loader
from pipeline.adaptors.refusals import array_of, refused
from pipeline.adaptors.structure import mapped
from pipeline.datasets.dataset import Dataset
from pipeline.datasets.iterator import DatasetIterator
from pipeline.diagnostics.wording import named
from pipeline.dtypes import integer
from pipeline.errors import FailedPreconditionError, OutOfRangeError, invalid
from pipeline.keywords import tells_keywords
from pipeline.locks import Lock
from pipeline.sources.extras import needs
from pipeline.sources.source import Source

_BACKENDS = ". Keras needs a backend: install jax, torch or tensorflow, and set KERAS_BACKEND to its name"

keras: Any = needs("keras", "pipeline.keras", hint=_BACKENDS)

# Maximum number of first batches to keep per epoch, because Keras inspects some before it starts.
_KEPT = 8

Names = str | Sequence[str] | None


class PyDataset(keras.utils.PyDataset):  # type: ignore[misc]
    """Give a dataset's batches to Keras's `fit`, `evaluate` and `predict`, with any backend.

    Keras's epoch i is `dataset.epoch(i)`, with its own order; `fit` ignores `shuffle`. The dataset has its own threads
    and processes, so `workers` above 1 and `use_multiprocessing` are a ValueError.

    Thread safety: every method may be called from any thread.

    Examples:
        >>> data = pipeline.arrays({"image": np.zeros((6, 2), "float32"), "label": np.arange(6)}).batch(2)
        >>> dataset = pipeline.keras.PyDataset(data, x="image", y="label")
        >>> len(dataset)
        3
    """

    @tells_keywords
    def __init__(
        self,
        data: Dataset[Any] | DatasetIterator[Any],
        *,
        x: Names = None,
        y: Names = None,
        sample_weight: str | None = None,
        steps: int | None = None,
        batch_size: int | None = None,
    ) -> None:
        """Make a Keras dataset; nothing starts before the first batch.

        Args:
            data: A dataset of batches, such as `source.batch(128)`, or its iterator; with `batch_size`, a source.
                Batches are (x,), (x, y) or (x, y, sample_weight); x alone, also as a dict; or dicts: then the next
                arguments choose components.
            x: The input: a name in the dict, or a list of names for a dict of inputs; None means all
                others, without a dict if there is one.
            y: The target, or a list of names for a dict of targets.
            sample_weight: The examples' weights.
            steps: Batches per Keras epoch; None means len(data).
            batch_size: Batch size for a source; the last batch may be smaller. Datasets have their own.

        Raises:
            TypeError: `data` is something else, or has no `len` and `steps` is None; a number is not an integer, or
                `batch_size` is missing, or given for data with batches.
            ValueError: `steps` or `batch_size` is less than 1, there is no batch, or `sample_weight` is there without
                `y`.

            When a batch is taken: TypeError, if a component has strings, or Keras does not accept the batches;
            InvalidArgumentError, if no component has a given name, or, with the JAX backend, an integer does not fit
            into JAX's 32 bits.
        """
        super().__init__()
        if isinstance(data, Source):
            if batch_size is None:
                raise TypeError("PyDataset needs the batch_size for a source")
            data = data.batch(batch_size)
        elif batch_size is not None and isinstance(data, (Dataset, DatasetIterator)):
            raise TypeError("batch_size is for sources; datasets of batches have their own")
        if sample_weight is not None and y is None:
            raise ValueError("sample_weight= needs y=")
        if steps is not None and integer(steps, "steps") < 1:
            raise ValueError(f"steps must be at least 1, got {steps}")
        self._loader = _PyDataset(data, functools.partial(_chosen, x, y, sample_weight))
        self._steps = steps
        self._lock = Lock()
        self._batches: Iterator[Any] | None = None
        self._kept: list[Any] = []  # this epoch's first batches, while Keras may only be inspecting
        self._given = 0  # batches of this epoch given to Keras
        self._begins = True  # True if the epoch begins, or restarts, with the next batch
        self._failed = ""  # the error that ended this epoch
        if not len(self):
            raise ValueError(f"an epoch has no batch: {data!r} has fewer examples than a batch needs")

    def __len__(self) -> int:
        """Return the number of batches per Keras epoch."""
        if self._steps is not None:
            return self._steps
        try:
            return len(self._loader)
        except TypeError as error:
            raise TypeError(f"{error}: pass steps=, the number of batches per Keras epoch") from error

    def __repr__(self) -> str:
        return f"<PyDataset over {self._loader.loop!r}>"

    @property
    def num_batches(self) -> int:
        """As `len`. Keras calls it when it begins an epoch, and before."""
        self._begins = True
        return len(self)

    def __getitem__(self, index: int) -> Any:
        """Return the next batch, ignoring `index`: the dataset decides the order.

        Raises:
            OutOfRangeError: The input is at its end, and cannot be read again.
            FailedPreconditionError: It failed earlier in this Keras epoch.
            Exception: The dataset raised it.
        """
        with self._lock:
            if self._begins:
                self._begin()
            if self._given == _KEPT:
                self._kept.clear()
            if self._given < len(self._kept):
                batch = self._kept[self._given]
            else:
                batch = self._fresh()
                if self._given < _KEPT:
                    self._kept.append(batch)
            self._given += 1
            return batch

    def _begin(self) -> None:
        """Begin a Keras epoch. After a mere inspection it restarts with the same batches."""
        self._begins, self._failed = False, ""
        looked = self._given < min(len(self), _KEPT + 1)
        if not looked:
            self._kept.clear()
            if self._given < len(self) and self._steps is None:  # it was left in the middle
                self._batches = None
        self._given = 0

    def _fresh(self) -> Any:
        """Return the dataset's next batch, from its next epoch if this one is at its end."""
        if self._failed:
            text = f"this Keras epoch was ended by {self._failed}: begin another one, or load a state"
            raise FailedPreconditionError(None, None, text)
        for _ in range(3):  # a state from the end of an epoch has no batches left
            if self._batches is None:
                self._batches = iter(self._loader)
            try:
                return next(self._batches)
            except StopIteration:
                self._batches = None
            except Exception as error:
                self._batches, self._failed = None, named(error)
                self._kept.clear()  # Keras's next epoch begins another dataset epoch
                raise
        raise OutOfRangeError(
            None,
            None,
            f"the input ended after {self._given} batches of this epoch and cannot be read again: pass an "
            "array, a list or a source, or fewer steps",
        )

    def set_epoch(self, epoch: int) -> None:
        """Set the next epoch for Keras to read, counted from 0.

        Call it before `fit(initial_epoch=...)`. For BackupAndRestore, which chooses the epoch itself, call it from
        a callback's `on_epoch_begin`.

        Raises:
            ValueError: `steps` was given: Keras's epochs are not the dataset's.
        """
        if self._steps is not None:
            raise ValueError("set_epoch: with steps=, Keras's epochs are not those of the dataset")
        with self._lock:
            looked = self._batches is not None and self._given < min(len(self), _KEPT + 1)
            if looked and self._loader.loop.epoch == epoch:
                return  # Keras has inspected its first batches, and gets them again
            self._loader.set_epoch(epoch)
            self._batches, self._given, self._begins, self._failed = None, 0, True, ""
            self._kept.clear()

    def close(self) -> None:
        """Stop the dataset's threads.

        Raises:
            Exception: As for the iterator's `close`.
        """
        self._loader.close()

    def state_dict(self) -> dict[str, Any]:
        """Return the state after Keras's last batch: in a callback's `on_epoch_end`, the end of the epoch.

        Raises:
            FailedPreconditionError: A source cannot be rewound.
        """
        with self._lock:
            return self._loader.state_dict()

    def load_state_dict(self, state_dict: Mapping[str, Any], *, allow: Collection[str] = ()) -> None:
        """Continue from a state, before Keras's first batch; pass `initial_epoch` to `fit`.

        Args:
            state_dict: A result of `state_dict` from an equal dataset.
            allow: Differences to accept; see `DatasetIterator.load_state_dict`.

        Raises:
            StateMismatchError, InvalidArgumentError, FailedPreconditionError: As for `DatasetIterator.load_state_dict`.
        """
        with self._lock:
            self._loader.load_state_dict(state_dict, allow=allow)
            self._batches, self._given, self._begins, self._failed = None, 0, True, ""
            self._kept.clear()

    @property
    def workers(self) -> int:
        """Keras's own threads: none besides the caller."""
        return 1

    @workers.setter
    def workers(self, count: int) -> None:
        if count not in (0, 1):
            raise ValueError(f"workers={count}: {_OWN}")

    @property
    def use_multiprocessing(self) -> bool:
        """True if Keras starts processes: never."""
        return False

    @use_multiprocessing.setter
    def use_multiprocessing(self, wanted: bool) -> None:
        if wanted:
            raise ValueError(f"use_multiprocessing={wanted}: {_OWN}")

    def __reduce__(self) -> Any:
        raise TypeError(f"a PyDataset cannot be sent to another process: {_OWN}")


_OWN = "the dataset has its own threads and processes: pass workers= to its map, or num_threads= to a batch function"


class _PyDataset(Loader):
    def __init__(self, data: Any, choose: Callable[[Any], Any]) -> None:
        super().__init__(data, 0)
        self._choose, self._component = choose, _component()

    def _convert(self, batch: Any) -> Any:
        return mapped(self._component, self._choose(batch))


def _component() -> Callable[[Any, str], Any]:
    """Return a function from a component and its name to a value for Keras's backend."""
    if keras.backend.backend() == "jax":
        # JAX would truncate numbers, and Keras does not check.
        from pipeline.adaptors.jax_arrays import array_for  # other backends work without JAX

        return functools.partial(array_for, library="Keras")
    return _checked


def _checked(value: Any, name: str) -> Any:
    array = array_of(value)
    if array.dtype.kind in "OSUTmM":
        raise refused(array, name, "Keras")
    return value


def _chosen(x: Names, y: Names, sample_weight: str | None, batch: Any) -> Any:
    """Return a batch's components for Keras, converted."""
    if x is None and y is None and sample_weight is None:
        if isinstance(batch, dict):
            return batch
        if isinstance(batch, np.ndarray):
            return (batch,)
        if isinstance(batch, (tuple, list)) and len(batch) <= 3:
            return tuple(batch)
        raise TypeError(
            "Keras takes batches (x,), (x, y) or (x, y, sample_weight), or dicts with x= and y= of PyDataset, not "
            f"{type(batch).__name__}{f' of {len(batch)}' if isinstance(batch, (tuple, list)) else ''}"
        )
    if not isinstance(batch, dict):
        raise TypeError(f"x, y and sample_weight choose from dicts; the batches are {type(batch).__name__}")
    named = [*_names(y), *_names(sample_weight)]
    rest = [name for name in batch if name not in named]
    first = x if x is not None else rest[0] if len(rest) == 1 else rest
    for name in [*_names(first), *named]:
        if name not in batch:
            raise invalid(f"there is no component {name!r}; the batches have {', '.join(map(repr, batch))}")
    return tuple(_part(batch, part) for part in (first, y, sample_weight) if part is not None)


def _names(part: Names) -> Sequence[str]:
    return [part] if isinstance(part, str) else part or []


def _part(batch: dict[str, Any], names: str | Sequence[str]) -> Any:
    return batch[names] if isinstance(names, str) else {name: batch[name] for name in names}
