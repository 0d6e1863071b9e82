"""dataset: make a Dataset from almost any data."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, overload

from numpy.typing import NDArray

from pipeline.capabilities import LazyFrame, Stateful
from pipeline.datasets.dataset import Dataset, Workers
from pipeline.keywords import tells_keywords
from pipeline.nest import parts_of
from pipeline.sources.extras import is_frame
from pipeline.sources.iterables import OfIterable, OfIterator, OfStateful
from pipeline.sources.sequence import STORED, OfSequence, sequence_of
from pipeline.stages.calls import name_of

if TYPE_CHECKING:
    from pipeline.queues.base import QueueBase

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class SupportsItems(Protocol[T_co]):
    """A sequence with a length and items, such as a torch Dataset."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> T_co: ...


_WANTED = "dataset: expected arrays, a sequence, an iterable, a function or a queue"


@overload
def dataset(given: Dataset[T]) -> Dataset[T]: ...
@overload
def dataset(given: NDArray[Any] | tuple[Any, ...] | Mapping[str, Any] | QueueBase) -> Dataset[Any]: ...
@overload
def dataset(given: SupportsItems[T], *, workers: Workers = None) -> Dataset[T]: ...
@overload
def dataset(given: Iterable[T] | Callable[[], Iterator[T]]) -> Dataset[T]: ...
@overload
def dataset(given: Callable[[], T]) -> Dataset[T]: ...


@tells_keywords
def dataset(given: Any, *, workers: Workers = None) -> Dataset[Any]:
    """Make a dataset from arrays, sequences, iterables, functions or queues.

    Args:
        given: The data to read:

            - an array, or a tuple or dict of arrays, row by row
            - a DataFrame or Arrow table: each row is a dict, as in `arrow`
            - a list or another sequence, such as a torch `Dataset`
            - an iterable, read again in each epoch; an iterator is read once
            - a generator function, called in each epoch
            - a function without arguments, called until it raises
              OutOfRangeError or StopIteration
            - a queue that your threads fill
            - a producer, such as `slice_input_producer(...)`
            - an object with `state_dict` and `load_state_dict`
            - a Dataset, returned as it is
        workers: Fetch items of a sequence in threads or processes, as in `map`.

    Raises:
        TypeError: `given` is none of these, or has no items for workers.

    Examples:
        >>> [batch.tolist() for batch in pipeline.dataset([1, 2, 3]).batch(2)]
        [[1, 2], [3]]
    """
    if workers is not None:
        return Dataset(OfSequence(_fetchable(given), workers))
    if isinstance(given, Dataset):
        return given
    if isinstance(given, (str, bytes, bytearray)):
        raise TypeError(f"{_WANTED}, got {given!r:.80}; for the lines of a file use pipeline.text")
    kind = type(given)
    if any(each.__module__.startswith(("pipeline.queues.", "pipeline.producers.")) for each in kind.__mro__):
        from pipeline.batches.origins import node_of  # imported late: the three imports take 0.1 s

        if (node := node_of(given)) is not None:
            return Dataset(node)
    if is_frame(kind):
        from pipeline.sources.arrow import arrow  # as above

        return arrow(given)
    if isinstance(given, (tuple, dict)) or _is_array(kind):
        if not _is_array(kind) and not parts_of(given):
            raise TypeError(f"{_WANTED}, got an empty {kind.__name__}")
        from pipeline.sources.arrays import arrays  # as above

        return arrays(given)
    if isinstance(given, Stateful) and hasattr(kind, "__iter__"):
        return Dataset(OfStateful(given, _name(given)))
    if inspect.isgeneratorfunction(given):
        return Dataset(OfIterable(given, name_of(given), None))
    if inspect.iscoroutinefunction(given) or inspect.isasyncgenfunction(given) or hasattr(kind, "__anext__"):
        raise TypeError(f"{_WANTED}, got {given!r:.80}, which would never be awaited: use a generator function")
    if isinstance(given, Mapping):
        raise TypeError(f"{_WANTED}, got a {kind.__name__}: pass a dict of arrays")
    if sequence_of(given):
        return Dataset(OfSequence(given))
    if isinstance(given, Iterator):
        return Dataset(OfIterator(given, _name(given)))
    if isinstance(given, (set, frozenset)):
        raise TypeError(f"dataset: a {kind.__name__} has no order: pass sorted(x), got {given!r:.80}")
    if hasattr(kind, "__iter__"):
        return Dataset(OfIterable(functools.partial(iter, given), _name(given), _length(given)))
    if callable(given):
        from pipeline.sources.callables import OfCallable  # imported lazily: 1 ms, only for functions

        return Dataset(OfCallable(given))
    hint = ""
    if hasattr(kind, "get") and hasattr(kind, "put"):  # as in the standard module queue
        hint = ": use a pipeline.FIFOQueue"
        if not inspect.iscoroutinefunction(given.get):  # as in asyncio, where nothing would await it
            hint += ", or iter(q.get, None), which ends when q.get() returns None"
    if isinstance(given, LazyFrame):
        hint = ": pass its .collect()"
    raise TypeError(f"{_WANTED}, got {given!r:.80}{hint}")


def _fetchable(given: Any) -> Any:
    """Return a sequence with a `__getitem__` written by the user; TypeError for anything else."""
    kind = type(given)
    if isinstance(given, Dataset) or kind in STORED or _is_array(kind) or not sequence_of(given):
        raise TypeError(
            f"dataset: workers= calls the __getitem__ of your own sequence, not of {given!r:.80}: for a function write "
            ".map(function, workers=...)"
        )
    return given


def _is_array(kind: type[Any]) -> bool:
    arrays = hasattr(kind, "__array__") or hasattr(kind, "data_vars") or hasattr(kind, "tocsr")  # xarray, SciPy
    return arrays and not hasattr(kind, "__next__")


def _name(given: Any) -> str:
    return str(getattr(given, "__name__", type(given).__name__))


def _length(given: Any) -> int | None:
    try:
        return len(given)
    except TypeError:
        return None
