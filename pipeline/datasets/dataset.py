"""Dataset: users compose it from a source and transformations. Iterating runs it."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypedDict, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from pipeline.datasets import mistakes
from pipeline.datasets.iterator import DatasetIterator
from pipeline.datasets.spec import spec_of
from pipeline.dtypes import at_least, integer, items, local_path, one_of, refuse_missing, truth
from pipeline.errors import FailedPreconditionError, InvalidArgumentError, invalid
from pipeline.keywords import in_other_words, tells_keywords, tells_keywords_too
from pipeline.stages import by_name as stages
from pipeline.stages.index import ENDLESS
from pipeline.stages.node import Node, Recipe, index_of, measured, nodes_of, opened, running
from pipeline.stages.run import Run
from pipeline.stages.selection import arranged

if TYPE_CHECKING:
    import os
    from concurrent.futures import Executor

    from typing_extensions import Unpack

T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")
U = TypeVar("U")
V = TypeVar("V")

Workers: TypeAlias = "int | Literal['auto'] | Executor | None"


class CallOptions(TypedDict, total=False):
    """Options for `map`, `filter` and `flat_map`: how to call a function. See `map`."""

    workers: Workers
    ordered: bool
    on_error: str
    max_errors: int | None
    seed: int | None


# Limits for the elements in a full shuffle, and in a queue.
_MOST_SHUFFLED, _MOST_PREFETCHED = (1 << 32) - 1, (1 << 31) - 1

_ALL = 1 << 40  # more elements than fit into memory

_FILL = "a cache before it is not full: iterate over it once, as in `for _ in data: pass`"

_MOST_EPOCHS = (1 << 62) - 1  # the most a state may contain


class _Named(type):
    """Dataset's class: its error for a function such as `Dataset.from_tensor_slices`."""

    if not TYPE_CHECKING:

        def __getattr__(cls, name: str) -> Any:
            text = f"type object {cls.__name__!r} has no attribute {name!r}{in_other_words(name)}"
            raise AttributeError(text, name=name, obj=cls)


class Dataset(Recipe, Generic[T_co], metaclass=_Named):
    """A recipe for examples: a source and transformations.

    It is immutable, cheap, and picklable if your functions are. Iterate over it to run it. `iter(dataset)` returns an
    iterator, which also has states, a report and `close`.

    Thread safety: every method may be called from any thread.

    Raises:
        TypeError: You call the class itself. Use `pipeline.dataset` or a source.

    Examples:
        >>> squares = pipeline.dataset(range(6)).map(lambda number: number**2).batch(3)
        >>> [batch.tolist() for batch in squares]
        [[0, 1, 4], [9, 16, 25]]
    """

    _epoch = 0

    def __init__(self, node: Node, epoch: int = 0) -> None:
        """Use `dataset`, or a source such as `csv`."""
        if not isinstance(node, Node):
            raise TypeError(f"Dataset is made by functions: write pipeline.dataset({node!r:.80}), or use a source")
        self._node, self._epoch = node, epoch
        self._loops: mistakes.Loops | None = mistakes.Loops()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            hint = in_other_words(name)
            if not name.startswith("_") and hasattr(DatasetIterator, name):
                hint = f", but its iterators do: write iterator = iter(dataset), then iterator.{name}"
            raise AttributeError(f"a dataset has no {name!r}{hint}", name=name, obj=self)

    # Running it

    def __iter__(self) -> DatasetIterator[T_co]:
        made: DatasetIterator[T_co] = DatasetIterator(self._node, self._epoch)
        if self._loops is not None:
            made._loops = self._loops
        mistakes.warn_of_copies(self._node, made._name)
        return made

    def __aiter__(self) -> DatasetIterator[T_co]:
        return iter(self)

    @tells_keywords
    def epoch(self, i: int) -> Dataset[T_co]:
        """Return the recipe with epoch i's orders.

        Raises:
            ValueError: `i` is negative, or a source can be read only once.

        Examples:
            >>> numbers = pipeline.dataset(range(4)).shuffle(seed=1)
            >>> [list(numbers.epoch(i)) for i in range(2)]
            [[3, 0, 1, 2], [1, 3, 2, 0]]

        See Also:
            `repeat`, for several epochs in one loop.
        """
        number = at_least(0, i, "epoch: i", _MOST_EPOCHS)
        if number:
            self._needs_passes("epoch")
        made: Dataset[T_co] = Dataset(self._node, number)
        made._loops = None  # the same epoch was requested again
        return made

    def _then(self, kind: Callable[..., Node], *given: Any) -> Dataset[Any]:
        """Return the recipe with one more step."""
        return Dataset(kind(self._node, *given), self._epoch)

    def _needs_no_time(self, what: str) -> None:
        """Reject a step that selects among elements if their number depends on time."""
        if self._node.timed:
            raise invalid(f"{what}: the batches of batch(max_wait=...) depend on time: write {what} before batch")

    def _no_order(self, what: str, hint: str) -> InvalidArgumentError:
        """Return the error for a step that needs an indexed dataset."""
        kind = self._source_or_step()
        if self._node.indexed and self._node.length() == ENDLESS:
            return invalid(f"{what}: {kind} has no end: write {what} before {kind}")
        if self._node.indexed:
            return invalid(f"{what}: {kind} gets its input from workers, as a stream: write {what} before {kind}")
        return invalid(f"{what}: {kind} is a stream: {hint}")

    def _source_or_step(self) -> str:
        """Return the last step's name for errors: its method, or the source's own name."""
        return self._node.kind if self._node.inputs else self._node.label()

    def _or_index(self) -> str:
        """Return how to index the source, to end a hint; "" if nothing would then be indexed."""
        node = self._node
        while isinstance(node, stages.Map) and node.one_to_one:
            node = node.source
        return f", or index=True to {node.kind}" if node.takes_index else ""

    def _chooses_all(self) -> bool:
        """Return whether elements can be read in any order."""
        node = arranged(self._node)
        while node.choices_below:
            (node,) = node.inputs
        return node.indexed and not node.works_ahead and node.length() != ENDLESS

    def _needs_passes(self, what: str) -> None:
        if self._node.once() is not None:
            raise invalid(f"{what}: {self._node.once()}, which can be read once; pass a list or a generator function")
        for node in nodes_of(self._node):
            if node.endless:
                raise invalid(f"{what}: repeat() without a number has no end, so there is one pass")

    # One example for another

    @tells_keywords
    def map(
        self,
        function: Callable[[T_co], U],
        *,
        workers: Workers = None,
        ordered: bool = True,
        on_error: str = "raise",
        max_errors: int | None = None,
        seed: int | None = None,
    ) -> Dataset[U]:
        """Call your function with each element.

        Args:
            function: Takes an element, returns another. It may call `example_rng`.
            workers: Number of threads, "auto", or an executor: `processes(n)`,
                `cluster.workers(n)` or your own. None calls it in your thread.
            ordered: Keep the order of the results. If False, there are no states.
            on_error: "raise", or "skip" to leave out elements on which it fails, and
                records that the source cannot parse.
            max_errors: Limit for skipped elements; None for no limit.
            seed: Seed for `example_rng`; by default the nearest seed before it. With no
                seed each run draws other numbers.

        Raises:
            TypeError: The function is not callable, is async, or does not pickle.
            ValueError: An option is wrong.

        Examples:
            >>> list(pipeline.dataset([1, 2]).map(lambda n: 10 * n, workers=2))
            [10, 20]
        """
        calls = stages.CallSettings(workers, ordered, on_error, max_errors, seed)
        return self._then(stages.Map, function, calls)

    @tells_keywords_too(map)
    def map_batches(self, function: Callable[[T_co], U], **options: Unpack[CallOptions]) -> Dataset[U]:
        """Call your function with each batch. Options and errors are those of `map`.

        Examples:
            >>> batches = pipeline.dataset(range(4)).batch(2).map_batches(lambda batch: batch * 10)
            >>> [batch.tolist() for batch in batches]
            [[0, 10], [20, 30]]

        See Also:
            `Dataset.batch`, which makes the batches; `map`, for a function of one element.
        """
        return self._then(stages.Map, function, stages.CallSettings(**options))

    @tells_keywords_too(map)
    def filter(self, function: Callable[[T_co], object], **options: Unpack[CallOptions]) -> Dataset[T_co]:
        """Keep elements if your function returns a true value. Options and errors are those of `map`.

        Examples:
            >>> list(pipeline.dataset(range(6)).filter(lambda number: number % 2))
            [1, 3, 5]
        """
        return self._then(stages.Filter, function, stages.CallSettings(**options))

    @tells_keywords_too(map)
    def flat_map(self, function: Callable[[T_co], Iterable[U]], **options: Unpack[CallOptions]) -> Dataset[U]:
        """Replace each element by the iterable your function returns. Options and errors are those of `map`.

        With `workers` the iterable must end, because a worker reads it to its end first.

        Examples:
            >>> list(pipeline.dataset(["a b", "c"]).flat_map(str.split))
            ['a', 'b', 'c']
        """
        return self._then(stages.FlatMap, function, stages.CallSettings(**options))

    def enumerate(self) -> Dataset[tuple[int, T_co]]:
        """Pair each element with its index in the epoch.

        Examples:
            >>> list(pipeline.dataset(["a", "b"]).enumerate())
            [(0, 'a'), (1, 'b')]
        """
        self._needs_no_time("enumerate")
        return self._then(stages.Enumerated)

    # Which elements, and in which order

    @tells_keywords
    def shuffle(self, buffer_size: int | None = None, *, seed: int | None = None) -> Dataset[T_co]:
        """Shuffle the elements, in a different order each epoch.

        `epoch(i)`, `repeat` and a DataLoader begin epochs. A second `for` over the same dataset repeats the epoch
        in the same order, even without a seed.

        Args:
            buffer_size: None shuffles everything, which needs an indexed dataset.
                n draws from a buffer with n elements, and works on streams.
            seed: Seed for the orders; None draws one, which states include.

        Raises:
            ValueError: `buffer_size` is less than 1, or None for a stream.

        Examples:
            >>> list(pipeline.dataset(range(6)).shuffle(seed=1))
            [3, 5, 0, 4, 1, 2]
            >>> def stream():
            ...     yield from range(6)
            >>> sorted(pipeline.dataset(stream).shuffle(3, seed=1))
            [0, 1, 2, 3, 4, 5]
        """
        self._needs_no_time("shuffle")
        if buffer_size is None:
            if not self._chooses_all():
                raise self._no_order("shuffle", f"give a buffer_size, as in .shuffle(10_000, seed=1){self._or_index()}")
            if (length := self._node.length()) is not None and length > _MOST_SHUFFLED:
                text = f"shuffle: at most {_MOST_SHUFFLED:,} elements can be shuffled at once, got {length:,}"
                raise invalid(f"{text}: give a buffer_size")
            return self._then(stages.ShuffleAll, seed)
        return self._then(stages.Shuffle, at_least(1, buffer_size, "shuffle: buffer_size", _MOST_SHUFFLED), seed)

    @tells_keywords
    def repeat(self, n: int | None = None) -> Dataset[T_co]:
        """Repeat the dataset for n epochs, each in its own order; None repeats it forever.

        Raises:
            ValueError: `n` is negative, the source can be read only once, or an endless repeat has no elements.

        Examples:
            >>> list(pipeline.dataset(["a", "b"]).repeat(2))
            ['a', 'b', 'a', 'b']

        See Also:
            `epoch`, for one epoch per loop, each with a position and a report of its own.
        """
        self._needs_passes("repeat")
        if n is None and self._node.length() == 0:
            raise invalid("repeat: there are no elements, and repeat() without a number would look for one forever")
        count = None if n is None else at_least(0, n, "repeat: n")
        if count is not None and count * (length := self._node.length() or 0) > sys.maxsize:
            raise invalid(
                f"repeat: {count:,} passes over {length:,} elements are more than {sys.maxsize:,} elements: leave out n"
            )
        return self._then(stages.Repeat, count)

    @tells_keywords
    def take(self, n: int) -> Dataset[T_co]:
        """Keep the first n elements.

        Raises:
            ValueError: `n` is negative, or the step follows `batch(max_wait=...)`.

        Examples:
            >>> list(pipeline.dataset(range(10)).take(3))
            [0, 1, 2]
        """
        self._needs_no_time("take")
        return self._then(stages.Take, at_least(0, n, "take: n"))

    @tells_keywords
    def skip(self, n: int) -> Dataset[T_co]:
        """Leave out the first n elements.

        Raises:
            ValueError: `n` is negative, or the step follows `batch(max_wait=...)`.

        Examples:
            >>> list(pipeline.dataset(range(5)).skip(3))
            [3, 4]
        """
        self._needs_no_time("skip")
        return self._then(stages.Skip, at_least(0, n, "skip: n"))

    @tells_keywords
    def shard(self, i: int, n: int, *, drop_remainder: bool = False) -> Dataset[T_co]:
        """Keep every n-th element from index i on: the part for host i if n hosts split the dataset.

        After `map(on_error="skip")`, elements are split before the function runs, so each host calls it only for its
        own part. Each host then skips its own failures, and the parts may differ in length.

        Args:
            i, n: Index of this host, and number of hosts.
            drop_remainder: Give all hosts the same number of elements; drops up to n - 1 at the end.

        Raises:
            ValueError: Not 0 <= i < n; a shuffle upstream has no seed, so each host would draw another order;
                or a source has `shard=` already.

        Examples:
            >>> [list(pipeline.dataset(range(5)).shard(host, 2)) for host in range(2)]
            [[0, 2, 4], [1, 3]]

        See Also:
            `split`, for training and validation sets; `shard=` of a source, which reads only one host's files or rows.
        """
        self._needs_no_time("shard")
        count = at_least(1, n, "shard: n")
        number = integer(i, "shard: i")
        if not 0 <= number < count:
            raise ValueError(f"shard: i must be 0 to {count - 1}, got {i}")
        for node in nodes_of(self._node):
            if count > 1 and node.stage == "source" and node.is_share():
                raise invalid(f"shard: {node.kind} has shard= already: leave out one of the two")
            seed = node.order_seed()
            if count > 1 and seed is not None and seed.drawn:
                raise invalid(f"shard: {node.kind} has no seed, so each host would draw its own order; give it a seed")
            if count > 1 and not node.ordered:
                raise invalid(
                    f"shard: with ordered=False each host would get the results of {node.label()} in its own order: "
                    f"write shard before {node.kind}, or leave out ordered=False"
                )
        return self._then(stages.Shard, number, count, truth(drop_remainder, "shard: drop_remainder"))

    @tells_keywords
    def concatenate(self, other: Dataset[U]) -> Dataset[T_co | U]:
        """Append the `other` dataset.

        Raises:
            TypeError: `other` is not a dataset.

        Examples:
            >>> list(pipeline.dataset([1, 2]).concatenate(pipeline.dataset([3])))
            [1, 2, 3]
        """
        following = node_of(other, "concatenate")
        _check_read_once([self._node, following], "concatenate")
        return self._then(stages.Concatenate, following)

    @tells_keywords
    def sample(self, weights: Any, n: int | None = None, *, seed: int | None = None) -> Dataset[T_co]:
        """Draw elements with replacement, by weight, for example to balance classes.

        Args:
            weights: One weight per element, at least 0.
            n: Draws per epoch; None draws `len(dataset)`.
            seed: Seed for the draws.

        Raises:
            ValueError: The dataset is not indexed, or the weights are wrong.

        Examples:
            >>> drawn = list(pipeline.dataset(["common", "rare"]).sample([1, 9], 1000, seed=1))
            >>> drawn.count("rare")
            909
        """
        if not (self._node.indexed and self._chooses_all()):
            text = "draw from pipeline.arrays(source.to_arrays()) if it fits into memory"
            raise self._no_order("sample", text)
        length = len(self)
        found = _as_weights(weights, "sample")
        if found.shape != (length,):
            raise invalid(f"sample: expected {length:,} weights, one for each element, got shape {list(found.shape)}")
        checked = _weights(found, "sample")
        count = length if n is None else at_least(0, n, "sample: n")
        return self._then(stages.WeightedSample, checked, count, seed)

    @tells_keywords
    def split(
        self,
        fraction: float,
        *,
        seed: int = 0,
        by: str | Callable[[T_co], Any] | None = None,
        stratify: str | Callable[[T_co], Any] | Sequence[Any] | None = None,
    ) -> tuple[Dataset[T_co], Dataset[T_co]]:
        """Split the elements randomly into two parts, for example for training and validation.

        Every run has the same parts. The seed and the element's index decide, so elements stay in their part if you
        append data, and sizes are only about the requested fraction. Split before you shuffle, repeat or shard.

        Args:
            fraction: Size of the first part, between 0 and 1.
            seed: Seed for the draws.
            by: A field, or a function of an element, with a text, an integer, or a tuple of them. Elements with equal
                values, such as one patient's images, stay together. The parts are then filters without a length.
            stratify: A field, a function, or one value per element. Each part gets its share of each value, to within
                one element, and appended data may change all parts. A field or function reads all elements now.

        Returns:
            Two datasets. They are indexed if this one is and `by` is None.

        Raises:
            ValueError: `fraction` is not between 0 and 1; both `by` and `stratify` are given; or the dataset is not
                indexed and `stratify` needs it.
            TypeError: An argument has the wrong type, or a value is not a text, an integer or a tuple.

        Examples:
            >>> train, validation = pipeline.dataset(range(10)).split(0.7, seed=1)
            >>> sorted([*train, *validation]) == list(range(10))
            True

        See Also:
            `shard`, for one part per host.
        """
        from pipeline.datasets.split import parts_of  # 2 ms with hashlib, only for programs that split

        self._needs_no_time("split")
        return parts_of(self, fraction, seed, by, stratify)

    @tells_keywords
    def sort(self, n: int, key: Callable[[T_co], Any], *, reverse: bool = False) -> Dataset[T_co]:
        """Sort runs of n elements, for example by length before `batch`, to reduce padding.

        Args:
            n: Elements per run, all in memory; the last run may be smaller.
            key: Your function from an element to its sort key. Elements with equal keys keep their order.
            reverse: Sort the largest key first.

        Raises:
            ValueError: `n` is less than 1, or the step follows `batch(max_wait=...)`; while you iterate: keys cannot be
                compared, or a key is NaN.
            TypeError: `key` is not callable.

        Examples:
            >>> words = pipeline.dataset(["see", "a", "to", "be", "or", "not"])
            >>> list(words.sort(3, len))
            ['a', 'to', 'see', 'be', 'or', 'not']
        """
        size = at_least(1, n, "sort: n")
        self._needs_no_time("sort")
        return self._then(stages.Sort, size, key, reverse)

    # Several into one

    @overload
    def batch(
        self,
        n: int | None = ...,
        *,
        drop_remainder: bool = ...,
        pad: None = ...,
        collate: Callable[[list[T_co]], U],
        max_wait: float | None = ...,
        max_tokens: int | None = ...,
        length: str | Callable[[Any], int] = ...,
    ) -> Dataset[U]: ...
    @overload
    def batch(
        self,
        n: int | None = ...,
        *,
        drop_remainder: bool = ...,
        pad: Any = ...,
        collate: str | None = ...,
        max_wait: float | None = ...,
        max_tokens: int | None = ...,
        length: str | Callable[[Any], int] = ...,
        pad_to: int | None = ...,
        pad_to_multiple_of: int = ...,
        pad_side: str = ...,
    ) -> Dataset[Any]: ...

    @tells_keywords
    def batch(
        self,
        n: int | None = None,
        *,
        drop_remainder: bool = False,
        pad: Any = None,
        collate: str | Callable[[list[Any]], Any] | None = None,
        max_wait: float | None = None,
        max_tokens: int | None = None,
        length: str | Callable[[Any], int] = len,
        pad_to: int | None = None,
        pad_to_multiple_of: int = 1,
        pad_side: str = "right",
    ) -> Dataset[Any]:
        """Stack n elements into a batch with the same structure.

        Args:
            n: Elements per batch; with `max_tokens`, the upper limit.
            drop_remainder: Drop the last batch if it is smaller.
            pad: Value that pads rows, or a dict by name; None needs equal shapes.
            collate: "stack", "pad", "row_splits" for (values, row_splits), or
                your function from a list of elements to a batch. None stacks, or
                pads if `pad` is given.
            max_wait: Seconds after which a smaller batch is returned; the input
                then runs in a thread.
            max_tokens: Upper limit for the number of elements times the longest
                length; with "row_splits", for the summed lengths.
            length: For `max_tokens`: a field name, or a function.
            pad_to, pad_to_multiple_of: Pad to a length, or a multiple of a number.
            pad_side: "right" or "left".

        Raises:
            ValueError, TypeError: An argument is wrong, or a row is too long.

        Examples:
            >>> words = pipeline.dataset([[1], [2, 2], [3], [4, 4, 4, 4]])
            >>> [rows.tolist() for rows in words.batch(2, pad=0)]
            [[[1, 0], [2, 2]], [[3, 0, 0, 0], [4, 4, 4, 4]]]
        """
        one_of(["right", "left"], pad_side, "batch: pad_side")
        length_to = None if pad_to is None else at_least(1, pad_to, "batch: pad_to")
        to = stages.PadTo(at_least(1, pad_to_multiple_of, "batch: pad_to_multiple_of"), length_to, pad_side == "left")
        if length_to is not None and to.multiple > 1:
            raise invalid("batch: pad_to= and pad_to_multiple_of= contradict each other: give one of them")
        if n is None and max_tokens is None:
            raise TypeError("batch: pass n, the number of elements per batch, or max_tokens=")
        most = None if n is None else at_least(1, n, "batch: n")
        if max_tokens is None:
            if length is not len:
                raise invalid("batch: length= has no effect without max_tokens=: pass both, or neither")
            return self._then(stages.Batch, most, drop_remainder, pad, collate, max_wait, False, to)
        if max_wait is not None or collate == "stack":
            other = "max_wait=" if max_wait is not None else "collate='stack'"
            raise invalid(f"batch: max_tokens= and {other} contradict each other: give one of them")
        tokens = at_least(1, max_tokens, "batch: max_tokens")
        if length_to is not None and length_to > tokens:
            raise invalid(f"batch: pad_to={length_to:,} is above max_tokens={tokens:,}: no element fits")
        self._needs_no_time("batch(max_tokens=...)")
        return self._then(stages.TokenBatch, tokens, most, length, drop_remainder, pad, collate, to)

    def unbatch(self) -> Dataset[Any]:
        """Split batches into rows.

        Examples:
            >>> list(pipeline.dataset([np.array([1, 2]), np.array([3])]).unbatch())
            [np.int64(1), np.int64(2), np.int64(3)]
        """
        return self._then(stages.Unbatch)

    @tells_keywords
    def window(self, size: int, stride: int | None = None, *, drop_remainder: bool = True) -> Dataset[Any]:
        """Stack `size` neighbours. Each window begins `stride` elements after the previous one.

        Args:
            size: Elements per window.
            stride: Distance between starts; None for `size`, so windows do not overlap.
            drop_remainder: Drop incomplete windows at the end.

        Raises:
            ValueError: `size` or `stride` is less than 1.

        Examples:
            >>> [window.tolist() for window in pipeline.dataset(range(5)).window(3, 1)]
            [[0, 1, 2], [1, 2, 3], [2, 3, 4]]
        """
        length = at_least(1, size, "window: size")
        step = length if stride is None else at_least(1, stride, "window: stride")
        return self._then(stages.Window, length, step, truth(drop_remainder, "window: drop_remainder"))

    @tells_keywords
    def bucket(
        self,
        boundaries: Sequence[int] | None = None,
        batch_sizes: Sequence[int] | None = None,
        *,
        max_tokens: int | None = None,
        length: str | Callable[[Any], int] = len,
        pad: Any = 0,
        pad_to_boundary: bool = False,
        multiple_of: int = 1,
        drop_remainder: bool = False,
    ) -> Dataset[Any]:
        """Batch elements with similar lengths, padded to the longest in each batch.

        Args:
            boundaries: Upper bounds of the buckets, ascending. An element goes into the first bucket whose bound
                exceeds its length. None, with `max_tokens`: lengths in a bucket differ by at most an eighth.
            batch_sizes: Elements per batch, one for each bucket and one for longer elements.
            max_tokens: Upper limit for the number of elements times the longest length, instead of `batch_sizes`.
            length: A field with the length, or your function from an element to its length.
            pad: Value used to pad shorter rows; a dict maps array names to values.
            pad_to_boundary: Pad to the bucket's bound: arrays named in a dict `pad`, or else those whose first
                dimension is the element's length or varies. Fixed vectors and images keep their shape.
            multiple_of: Pad the same arrays to a multiple.
            drop_remainder: Drop elements at the end if they do not fill a batch.

        Raises:
            ValueError: `boundaries` is not ascending, or `len(batch_sizes) != len(boundaries) + 1`. While you iterate:
                a length is not an integer, is negative or above `max_tokens`, or elements cannot be stacked.

        Examples:
            >>> words = pipeline.dataset([np.arange(n) for n in (1, 5, 2, 6)])
            >>> [batch.shape for batch in words.bucket([4], [2, 2])]
            [(2, 2), (2, 6)]
            >>> [batch.shape for batch in words.bucket(max_tokens=16, multiple_of=8)]
            [(2, 8), (2, 8)]
        """
        if (batch_sizes is None) == (max_tokens is None):
            raise invalid("bucket: give either boundaries and batch_sizes, or max_tokens=")
        multiple = at_least(1, multiple_of, "bucket: multiple_of")
        tokens = 0 if max_tokens is None else at_least(1, max_tokens, "bucket: max_tokens")
        if tokens and multiple > tokens:
            raise invalid(f"bucket: multiple_of={multiple:,} is above max_tokens={tokens:,}: no element fits")
        if boundaries is None and tokens:
            ends = stages.boundaries_up_to(tokens, multiple)
        else:
            ends = [integer(each, "bucket: a boundary") for each in items(boundaries, "bucket: boundaries", "integers")]
        sizes: list[int] | int = tokens
        if batch_sizes is not None:
            given = items(batch_sizes, "bucket: batch_sizes", "integers")
            sizes = [at_least(1, each, "bucket: a batch size") for each in given]
        if ends != sorted(set(ends)):
            raise invalid(f"bucket: boundaries must ascend, got {ends}")
        if isinstance(sizes, list) and len(sizes) != len(ends) + 1:
            raise invalid(f"bucket: {len(ends)} boundaries need {len(ends) + 1} batch sizes, got {len(sizes)}")
        to_boundary = truth(pad_to_boundary, "bucket: pad_to_boundary")
        if tokens and to_boundary and ends and ends[-1] > tokens:
            raise invalid(f"bucket: the boundary {ends[-1]:,} is above max_tokens={tokens:,}: no element fits")
        self._needs_no_time("bucket")
        dropped = truth(drop_remainder, "bucket: drop_remainder")
        return self._then(stages.Bucket, ends, sizes, length, pad, to_boundary, dropped, multiple)

    @tells_keywords
    def pack(
        self,
        length: int,
        *,
        method: str = "concat",
        long: str = "split",
        begin: Any = None,
        end: Any = None,
        labels: bool | str = False,
        cu_seqlens: bool = False,
        max_sequences: int | None = None,
        buffer: int | None = None,
        pad: Any = 0,
    ) -> Dataset[dict[str, NDArray[Any]]]:
        """Pack sequences into rows of equal length.

        A row is a dict with your fields, `segment_ids` (int32, from 1 in each row, 0 for padding) and `positions`
        (int32, from 0 for each piece of a sequence). Sequences that are not dicts become the field "tokens". Empty
        sequences are left out.

        Args:
            length: Row length.
            method: "concat" fills each row and continues a sequence in the next row. "first_fit" and "best_fit" keep
                sequences whole: a row begins with the oldest one in a buffer, then takes the oldest, or the longest,
                that fits.
            long: For sequences longer than a row with `begin` and `end`: "split" into several, "truncate", "drop" or
                "error". Truncated sequences keep their `begin` and `end`.
            begin, end: Values before and after each sequence, such as BOS and EOS; a dict maps fields to values.
            labels: True adds `labels`, the next token for each token; -100 at a sequence's end and for padding. A
                string names the field with the tokens.
            cu_seqlens: Add `cu_seqlens`, the ends of the pieces from 0 to `length`, and `max_seqlen`, the longest
                piece, both int32. Padding counts as a piece. With `max_sequences=n` there are n + 2 numbers.
            max_sequences: Limit for the pieces in a row.
            buffer: Number of sequences from which "first_fit" and "best_fit" choose; None for 64 and 1,000.
            pad: Value used to pad rows; a dict maps fields to values.

        Raises:
            ValueError: An argument is wrong; while you iterate: a sequence or a value does not fit.
            TypeError: While you iterate: sequences have different dtypes.

        Examples:
            >>> tokens = pipeline.dataset([np.array([1, 2, 3]), np.array([4, 5])])
            >>> row = next(iter(tokens.pack(6)))
            >>> row["tokens"].tolist(), row["segment_ids"].tolist()
            ([1, 2, 3, 4, 5, 0], [1, 1, 1, 2, 2, 0])
            >>> row = next(iter(tokens.pack(8, method="best_fit", end=9, labels=True)))
            >>> row["tokens"].tolist(), row["labels"].tolist()
            ([1, 2, 3, 9, 4, 5, 9, 0], [2, 3, 9, -100, 5, 9, -100, -100])
        """
        one_of(["concat", "first_fit", "best_fit"], method, "pack: method")
        one_of(["split", "truncate", "drop", "error"], long, "pack: long")
        if buffer is not None and method == "concat":
            raise invalid("pack: buffer: method='concat' keeps no sequences: leave it out")
        if method != "concat":  # buffered sequences are found again by their indices
            self._needs_no_time("pack")
        size = (1000 if method == "best_fit" else 64) if buffer is None else at_least(1, buffer, "pack: buffer")
        how = stages.Packing(
            length=at_least(1, length, "pack: length"),
            method=method,
            long=long,
            begin=begin,
            end=end,
            labels=labels if isinstance(labels, str) else truth(labels, "pack: labels"),
            cu_seqlens=truth(cu_seqlens, "pack: cu_seqlens"),
            max_sequences=None if max_sequences is None else at_least(1, max_sequences, "pack: max_sequences"),
            buffer=size,
            pad=pad,
        )
        if long != "split" and how.room < 1:
            raise invalid(f"pack: length={how.length} leaves no room for a sequence between begin and end")
        return self._then(stages.Pack, how)

    @tells_keywords
    def prefetch(self, n: int = 2) -> Dataset[T_co]:
        """Prepare up to n elements in a thread while you work with the last one; 0 changes nothing.

        Raises:
            ValueError: `n` is negative.

        Examples:
            >>> batches = pipeline.dataset(range(4)).batch(2).prefetch(2)
            >>> [batch.tolist() for batch in batches]
            [[0, 1], [2, 3]]

        See Also:
            `workers=` of `map`, which calls your function in several threads or processes; `cache`.
        """
        if isinstance(n, str) and n == "auto":
            text = 'prefetch: n cannot be "auto": more than 2 only helps where times vary. Write .prefetch(2), and '
            raise ValueError(text + 'workers="auto" in map, which finds how many threads or processes the loop needs')
        return self._then(stages.Prefetched, at_least(0, n, "prefetch: n", _MOST_PREFETCHED))

    @tells_keywords
    def cache(
        self,
        folder: str | os.PathLike[str] | None = None,
        *,
        allow_pickle: bool = False,
        rebuild: bool = False,
        verify: bool = False,
    ) -> Dataset[T_co]:
        """Compute the elements once: the first epoch fills the cache, and later epochs read it.

        Shuffles and random draws upstream are kept with the elements; those downstream differ in each epoch. A full
        cache is indexed, so `shuffle(seed=1)`, `len`, `d[i]`, `sample` and `shard` work.

        Args:
            folder: A folder for later runs and other processes; None for memory.
            allow_pickle: Pickle values of other classes than arrays, numbers, texts, dates, containers of them, named
                tuples, dataclasses and Enums. Unpickling can run any code, so nobody else may write to the folder.
            rebuild: Empty the folder first.
            verify: Compare the files in the folder with their checksums.

        Raises:
            ValueError: The dataset is endless or depends on time, or an option is given without a folder; or the folder
                holds pickles, and `allow_pickle` is False.
            StateMismatchError: The folder was filled from other files, functions, options or seeds.
            FailedPreconditionError: The folder has other contents, or another process fills the cache to be rebuilt.
            DataLossError: The folder is damaged.
            ResourceExhaustedError: While you iterate: the disk is full. Written elements stay.
            TypeError: While you iterate: an element has a value of another class, or cannot be pickled.

        Examples:
            >>> squares = pipeline.dataset(range(4)).map(lambda number: number**2).cache()
            >>> list(squares), squares[3]
            ([0, 1, 4, 9], 9)

        See Also:
            `prefetch`, which keeps only the next elements; `replay`, a buffer to draw from while threads add to it.
        """
        self._needs_no_time("cache")
        path = None if folder is None else local_path(folder, "cache: folder")
        given = {"allow_pickle": allow_pickle, "rebuild": rebuild, "verify": verify}
        chosen = [name for name, value in given.items() if truth(value, f"cache: {name}")]
        if path is None and chosen:
            raise invalid(f"cache: {chosen[0]}=True is for a folder: pass one, or leave it out")
        return self._then(stages.Cache, path, self._epoch, *[name in chosen for name in given])

    def checksum(self) -> Dataset[T_co]:
        """Include the contents of the elements, not only their order, in the iterator's `fingerprint()`.

        Only `batch(n)` without `pad=` or `collate=`, and `prefetch`, may follow, so the fingerprint is the same for any
        batch size. Elements may contain arrays, numbers and strings, and containers of them.

        Examples:
            >>> batches = iter(pipeline.dataset([1.0, 2.0]).checksum().batch(2))
            >>> next(batches).tolist(), batches.fingerprint()
            ([1.0, 2.0], '2-b5271281945ed868')
        """
        return self._then(stages.Checksum)

    # Looking at it

    @tells_keywords
    def to_arrays(self, *, pad: Any = None) -> Any:
        """Return all elements as arrays, in one element's structure: a table becomes a dict of columns.

        The first dimension counts the elements. Texts become object arrays.

        Args:
            pad: Value used to pad different shapes, as in `batch`.

        Raises:
            ValueError: The dataset is empty or endless, or shapes differ and `pad` is None.

        Examples:
            >>> pipeline.dataset([{"x": 1, "name": "a"}, {"x": 2, "name": "b"}]).to_arrays()
            {'x': array([1, 2]), 'name': array(['a', 'b'], dtype=object)}
        """
        length = self._node.length()
        if length == ENDLESS:
            raise invalid("to_arrays: the dataset has no end: write take(n) before it")
        with iter(self.batch(_ALL, pad=pad)) as batches:
            for batch in batches:
                return batch
        raise invalid("to_arrays: the dataset has no elements, so their dtypes are unknown")

    def __len__(self) -> int:
        """Return the number of elements per epoch.

        Raises:
            TypeError: The number is unknown, or the dataset is endless.
        """
        length = self._node.length()
        if length is None:
            hint = f" yet: {_FILL}" if self._node.indexed else ""
            if not hint and "torch.utils.data" in sys.modules:
                hint = ". torch's own DataLoader needs it: use pipeline.torch.DataLoader(dataset)"
            raise TypeError(f"the number of elements after {self._node.kind} is not known{hint}")
        if length == ENDLESS:
            raise TypeError("the dataset has no end")
        return length

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, index: int) -> T_co:
        """Return the epoch's element number `index`.

        Raises:
            IndexError: There is no such element.
            TypeError: The dataset is not indexed, or `index` is not an integer.
        """
        return self._elements([index]).first()  # type: ignore[no-any-return]

    def __getitems__(self, indices: Sequence[int]) -> list[T_co]:
        """Return several elements: torch's own DataLoader calls it for a batch.

        Raises:
            TypeError: The elements are batches already, or have no random access.
        """
        if self._node.batched:
            raise TypeError(
                f"torch's DataLoader would make batches of the batches of {self!r:.200}: pass batch_size=None to it, "
                "or use pipeline.torch.DataLoader(dataset)"
            )
        return list(self._elements(indices).examples())

    def _elements(self, indices: Sequence[int]) -> Any:
        """Return the elements with these numbers as a block's values; see `__getitem__`."""
        numbers = [self._place(index) for index in indices]
        run = self._new_run()
        run.fills = False
        block = index_of(arranged(self._node), run).block(np.array(numbers, np.int64))
        if block.error is not None:
            raise block.error
        return block.values

    def _place(self, index: int) -> int:
        """Return the place of element number `index`."""
        number = integer(index, "an index of a dataset")
        if not self._node.indexed:
            raise TypeError(
                f"{self._source_or_step()} is a stream and cannot be indexed: write next(iter(dataset)) for the first "
                "element"
            )
        length = self._node.length()
        if length is None:
            raise TypeError(f"the elements of {self._node.kind} have no numbers yet: {_FILL}")
        if number < 0 and length != ENDLESS:
            number += length
        if not 0 <= number < length:
            count = "is endless" if length == ENDLESS else f"has {length:,}"
            raise IndexError(f"there is no element {index}: the dataset {count}")
        return number

    def _new_run(self) -> Run:
        run = Run(self._node.kind, measured(self._node))  # `measured` notes each step's line on errors
        run.epoch = self._epoch
        return run

    @property
    def spec(self) -> Any:
        """The dtypes and shapes of the first element, in its structure: (dtype, shape) for each array.

        A ragged list does not fit into an array, so it counts as an object with shape ().

        Raises:
            FailedPreconditionError: The dataset is empty, or the source can be read only once.

        Examples:
            >>> pipeline.dataset([{"image": np.zeros((2, 2), "float32"), "label": 7}]).spec
            {'image': (dtype('float32'), (2, 2)), 'label': (dtype('int64'), ())}
        """
        if (reason := self._node.once()) is not None:
            text = f"spec: {reason}, and reading its first element would use that up"
            raise FailedPreconditionError(None, None, text)
        run = self._new_run()
        stream = opened(arranged(self._node), run)
        try:
            block = stream.take(1)
            if block is None:
                raise FailedPreconditionError(None, None, "spec: the dataset has no elements")
            element = block.values.first()
        finally:
            run.clock.stop()
            stream.close()
        return spec_of(element)

    def __repr__(self) -> str:
        parts: list[str] = []
        node = self._node
        while len(node.inputs) == 1:
            parts.append(node.text())
            node = node.inputs[0]
        parts.append(node.text() if not node.inputs else f"{node.kind}({len(node.inputs)} datasets)")
        epoch = [f"epoch({self._epoch})"] if self._epoch else []
        return ".".join(filter(None, [*reversed(parts), *epoch]))


def node_of(given: Any, what: str) -> Node:
    """Return a dataset's recipe; TypeError for anything else."""
    if not isinstance(given, Dataset):
        raise TypeError(f"{what}: expected a dataset, got {type(given).__name__}: wrap it in pipeline.dataset(...)")
    if given._epoch:
        raise invalid(f"{what}: pass the dataset without .epoch(), and call .epoch() on the result")
    return given._node


@tells_keywords
def mix(
    datasets: Iterable[Dataset[T]] | Mapping[str, Dataset[T]],
    weights: Any = None,
    *,
    by: str | Callable[[T], int] | None = None,
    seed: int | None = None,
    stop: str = "all_exhausted",
) -> Dataset[T]:
    """Draw elements from several datasets by weight.

    Args:
        datasets: A list of datasets, or a dict with their names.
        weights: Relative weights of the datasets: a list, or a dict by name; None for equal weights. Or a schedule, a
            list of (start, weights), where starts count drawn elements, or tokens with `by`.
        by: Weigh tokens instead of elements: a field with the length, or your function that returns it. Each dataset's
            share is then exact to within one element at any time.
        seed: Seed for the draws.
        stop: "all_exhausted" delivers every element once; "first_exhausted" ends with
            the first dataset that ends.

    Raises:
        ValueError: The weights or the schedule are wrong; while you iterate: a length is not an
            integer of at least 0, or lengths add up to more than 2**62.
        TypeError: An argument is not a dataset.

    Examples:
        >>> web, books = pipeline.dataset(["web"]).repeat(), pipeline.dataset(["book"]).repeat()
        >>> list(pipeline.mix([web, books], [0.9, 0.1], seed=1).take(1000)).count("web")
        895
        >>> mixed = pipeline.mix({"web": web, "books": books}, {"web": 1, "books": 1}, by=len, seed=1)
        >>> list(mixed.take(7000)).count("web")
        4000
    """
    names = [str(name) for name in datasets] if isinstance(datasets, Mapping) else None
    nodes = _nodes(list(datasets.values()) if isinstance(datasets, Mapping) else datasets, "mix")
    one_of(["all_exhausted", "first_exhausted"], stop, "mix: stop")
    lengths = None if by is None else stages.Lengths("mix: by", by)
    return Dataset(stages.Mix(nodes, names, _schedule(weights, len(nodes), names), seed, stop, lengths))


def _schedule(given: Any, count: int, names: list[str] | None) -> stages.Schedule:
    """Return a weight schedule for `count` datasets."""
    if not _is_schedule(given):
        return stages.Schedule([0], [_mix_weights(given, count, names, "mix")])
    phases = [tuple(phase) if isinstance(phase, (tuple, list)) else (phase,) for phase in given]
    if any(len(phase) != 2 for phase in phases):
        raise invalid(f"mix: a schedule is a list of (start, weights), got {given!r:.80}")
    starts = [at_least(0, start, "mix: the start of a phase", _MOST_EPOCHS) for start, _ in phases]
    if starts[0]:
        raise invalid(f"mix: the first phase of a schedule must start at 0, got {starts[0]:,}")
    if any(one >= other for one, other in itertools.pairwise(starts)):
        raise invalid(f"mix: the phases of a schedule must ascend, got {starts}")
    return stages.Schedule(
        starts, [_mix_weights(w, count, names, f"mix: phase {i}") for i, (_, w) in enumerate(phases)]
    )


def _is_schedule(given: Any) -> bool:
    first = given[0] if isinstance(given, (list, tuple)) and given else None
    return isinstance(first, (list, tuple))


def _mix_weights(given: Any, count: int, names: list[str] | None, what: str) -> NDArray[np.float64]:
    """Return the weights for `count` datasets."""
    if isinstance(given, Mapping):
        if names is None:
            raise invalid(
                f"{what}: weights by name are for datasets by name: mix({{'web': web, ...}}, {{'web': 1, ...}})"
            )
        if set(given) != set(names):
            raise invalid(f"{what}: expected weights for {names}, got {list(given)}")
        given = [given[name] for name in names]
    found = np.ones(count) if given is None else _as_weights(given, what)
    if found.shape != (count,):
        raise invalid(f"{what}: expected {count} weights, one for each dataset, got shape {list(found.shape)}")
    return _weights(found, what)  # type: ignore[no-any-return]


@overload
def zip(first: Dataset[T], second: Dataset[U], /) -> Dataset[tuple[T, U]]: ...
@overload
def zip(first: Dataset[T], second: Dataset[U], third: Dataset[V], /) -> Dataset[tuple[T, U, V]]: ...
@overload
def zip(*datasets: Dataset[Any] | Sequence[Dataset[Any]]) -> Dataset[tuple[Any, ...]]: ...


def zip(*datasets: Any) -> Dataset[tuple[Any, ...]]:
    """Combine elements from several datasets into tuples, up to the shortest: `zip(a, b)` or `zip([a, b])`.

    Examples:
        >>> list(pipeline.zip(pipeline.dataset(["a", "b"]), pipeline.dataset(range(5))))
        [('a', 0), ('b', 1)]
    """
    given = datasets[0] if len(datasets) == 1 and isinstance(datasets[0], (list, tuple)) else datasets
    nodes = _nodes(given, "zip")
    return Dataset(stages.Zip(nodes))


@tells_keywords
def interleave(datasets: Iterable[Dataset[T]], cycle_length: int | None = None, block_length: int = 1) -> Dataset[T]:
    """Read several datasets in turn.

    Args:
        datasets: A list of datasets, or one dataset with datasets as its elements, such as `d.map(to_dataset)`.
        cycle_length: Number of datasets open at once; None for all in a list, and 4 in a dataset.
        block_length: Elements per turn.

    Raises:
        ValueError: There are no datasets, or a number is less than 1.
        TypeError: An argument is not a dataset.

    Examples:
        >>> list(pipeline.interleave([pipeline.dataset(["a", "b", "c"]), pipeline.dataset(range(2))]))
        ['a', 0, 'b', 1, 'c']
    """
    nested = isinstance(datasets, Dataset)
    nodes = _nodes([datasets] if isinstance(datasets, Dataset) else datasets, "interleave")
    cycle = (
        (4 if nested else len(nodes)) if cycle_length is None else at_least(1, cycle_length, "interleave: cycle_length")
    )
    return Dataset(stages.Interleave(nodes, nested, cycle, at_least(1, block_length, "interleave: block_length")))


def _nodes(datasets: Any, what: str) -> list[Node]:
    """Return the recipes of several datasets, at least one."""
    if isinstance(datasets, Dataset) or not hasattr(type(datasets), "__iter__"):
        raise TypeError(f"{what}: expected a list of datasets, got {datasets!r:.80}")
    nodes = [node_of(each, what) for each in datasets]
    if not nodes:
        raise invalid(f"{what}: there are no datasets")
    _check_read_once(nodes, what)
    return nodes


def _check_read_once(nodes: Sequence[Node], what: str) -> None:
    """Reject an iterator used in two places."""
    seen: set[int] = set()
    for node in nodes:
        once = {id(each): each for each in running(node) if each.exclusive and each.once() is not None}
        for number, each in once.items():
            if number in seen:
                raise invalid(f"{what}: {each.once()}, which can be read once, but is read in two places; pass a list")
        seen.update(once)


def _as_weights(given: Any, what: str) -> NDArray[np.float64]:
    refuse_missing(given, f"{what}: the list of weights")
    try:
        return np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{what}: weights must be numbers, got {given!r:.80}") from None


_SMALLEST = 1e-200  # smallest weight that can divide lengths


def _weights(found: Any, what: str) -> Any:
    if not np.isfinite(found).all() or (found < 0).any():
        raise invalid(f"{what}: weights must be numbers of at least 0")
    with np.errstate(over="ignore"):
        if not np.isfinite(found.sum()) or 0 < found.max() < _SMALLEST:
            found = found / found.max()
    if not found.sum() > 0:
        raise invalid(f"{what}: at least one weight must be above 0")
    return found
