"""batch, shuffle_batch, batch_join and shuffle_batch_join: from a source of examples to a loop over batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pipeline.batches.determinism import is_deterministic
from pipeline.batches.feed import Feed
from pipeline.batches.loop import Batches
from pipeline.batches.options import BatchOptions, takes_options
from pipeline.batches.ordered import OrderedFeed
from pipeline.batches.request import (
    Request,
    batch_capacity,
    check_joined_min_after_dequeue,
    check_min_after_dequeue,
    pool_capacity,
    seed_of,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack


@takes_options
def batch(
    tensors: Any,
    batch_size: int,
    num_threads: int = 1,
    capacity: int | None = None,
    enqueue_many: bool = False,
    shapes: Sequence[Any] | None = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
    **options: Unpack[BatchOptions],
) -> Batches[Any]:
    """Make batches of the examples that threads get from a source, in the order in which they come.

    An example is an array, number, bytes or object, or a list, tuple or dict of them, which may be nested. The source
    of examples is one of

    - a callable without arguments that returns one example, and raises OutOfRangeError or StopIteration at the end of
      the input; with several threads, several call it at once
    - an array, another sequence, an iterable or a generator function: its rows or items, read under a lock. A second
      `for` over the loop reads it from the start, but for iterators, which can be read once
    - a queue, such as that of a producer: its elements are the examples
    - anything with a method `block(n)` that returns a block of 1 to n examples: arrays whose first dimension counts
      them. Such rows move in blocks, with no Python code for each row; so do those of a queue with shapes, and what
      the workers of an executor make for `map_ahead`.

    Args:
        tensors: The source.
        batch_size: Examples in a batch, at least 1.
        num_threads: Threads that read the source. With more than one the order of the examples may vary, unless the
            loop is deterministic; small examples of an iterator keep theirs, because one thread reads while the others
            wait. 0: no thread; whoever asks for a batch calls the source for it there and then. The order is then
            fixed, a debugger stops in the source below the call of `next`, an error is raised as soon as the source
            raises it, and there is no queue to wait at; but nothing is read while the loop does something else.
        capacity: Capacity of the queue, in examples: at least 1, or -1 for an unbounded one; None for what holds four
            batches, at least 32. With `num_threads=0`, how
            many examples a source that gives blocks is asked for at most, if a batch needs fewer.
        enqueue_many: The source gives a block of examples each time: arrays whose first dimension counts them.
        shapes: Shape of each component of an example (of a dict: in the order of its sorted keys); None takes those of
            the first example.
        dynamic_pad: Accept examples of different shapes, and pad each batch to its largest with zeros or b"". The
            shapes may then have None dimensions; without shapes every dimension may vary.
        allow_smaller_final_batch: Return the last examples as a smaller batch instead of dropping them,
            which a warning says once, and `num_dropped` of the result counts.
        shared_name: Ignored; accepted for TensorFlow's signature.
        name: Name of the queue, `batch` by default.
        keep_input: Which examples to keep. A callable is asked about each example, as the source gave it or `function`
            made it, and returns a bool; with `enqueue_many` it is asked about each block, and may return one bool for
            each row. Several threads call it. Or the answer itself: True keeps all; False keeps none, does not read the
            source, and waits until the loop is closed; with `enqueue_many`, an array of bools says which rows of every
            block stay.
        on_error: "raise" ends the loop with the first error of a thread. "skip" drops an example that a callable fails
            to return, or that does not fit; `num_errors` and `errors` of the result count and list them. If it was
            read by a reader, the error's `record_key` says where. For a block that fails, the callable is asked again
            with its records one by one, so that only the bad ones are dropped; without records of a reader, as with
            blocks of a `cursor`, the whole block is dropped, and counts once. What an iterator raises ends it, and is
            always raised; so are errors that no record is to blame for, such as too many open files, no memory, a
            failing disk or a missing library. A loop that gives no batch because all was dropped says so in the log.
        max_errors: With "skip", how many errors to tolerate; the next one is raised. None means no limit.
        coord: The Coordinator of the threads; None gives the loop its own.
        deterministic: True: the batches depend on the input, the seeds, `min_after_dequeue` and the batch size alone;
            `state_dict` and `fingerprint` of the result then work. Threads call a function one at a time until it has
            read what it reads from readers, producers and queues, and at once from then on; a function that reads from
            none of them is called by one thread at a time. False: examples come as threads have them, and the pool is
            as full as it gets. None: as `set_deterministic` says, else False.
        shard: (host, hosts): this host's share of each batch of all hosts, which has `hosts * batch_size` examples;
            `host` counts from 0. Hosts that pass the same sources and seeds together get what one host would. It makes
            the loop deterministic, and is not for `bucket_by_sequence_length`.
        fingerprint: "order", or "content": `fingerprint(content=True)` of the result then covers the bytes too. The
            latter makes the loop deterministic.
        function: Called with each example of the source; what it returns is the example of the batch. See `map_ahead`,
            which this is short for: the examples keep their order.
        workers: Who calls it: `pipeline.processes(n)`, `pipeline.threads(n)` or an executor; None is for `num_threads`
            threads. Without a function the source must be a dataset, an object with `__getitem__` and `__len__`, whose
            items workers make. Each round of a sequence goes to the same workers.
        ragged: What becomes of a component whose rows are arrays of different lengths, such as lists of Arrow: "pad"
            makes one array of them, padded with zeros or b"", and "row_splits" a pair (values, row_splits), where row i
            is `values[row_splits[i]:row_splits[i + 1]]`. A dict says it by name, or by number where components have no
            names: {"words": "pad"}; others are as they would be without. Of examples that come or are made one by one,
            as items of a dataset, and of those that a function makes, every array varies in length unless a dict,
            `shapes` or `dynamic_pad` says which. None: an array of arrays; arrays of single examples that vary need
            `dynamic_pad` then.
        encoding: The encoding of strings, such as "utf-8": batches then have str, in arrays of objects. None: bytes. A
            string that is not of it is a UnicodeDecodeError when it is read: it names the component, and the file and
            line where the source knows them, and `on_error="skip"` leaves the example out. All bytes count as
            strings, also binary columns of Arrow and Parquet: with such, leave it None, and decode the strings of each
            batch.

    Returns:
        An iterator over the batches that is a context manager too. Batches have the structure of the examples: dicts,
        lists, tuples, named tuples and dataclasses, also inside each other. The only component of a list or tuple comes
        bare. Inside an example, a list of plain Python values is an array; in blocks every list is a column of rows.

    Raises:
        TypeError: `tensors` is no source, `keep_input` is neither callable nor made of bools, a number is not an
            integer, `deterministic` is not a bool or None, `shard` is not a pair, `encoding` is not a str, or there is
            no such option.
        ValueError: A number is out of range; there is no such kind of `ragged`, or no such encoding; `keep_input` has
            more than one dimension, or has one without `enqueue_many`; `tensors` has masked values or nulls
            (InvalidArgumentError); or `deterministic=False` comes with `shard` or with `fingerprint="content"`.

    Examples:
        >>> with pipeline.batch(range(7), batch_size=3, allow_smaller_final_batch=True) as batches:
        ...     for numbers in batches:
        ...         print(numbers)
        [0 1 2]
        [3 4 5]
        [6]
    """
    request = Request(
        sources=[tensors],
        num_threads=num_threads,
        batch_size=batch_size,
        capacity=batch_capacity(capacity, batch_size),
        enqueue_many=enqueue_many,
        shapes=shapes,
        dynamic_pad=dynamic_pad,
        allow_smaller_final_batch=allow_smaller_final_batch,
        shared_name=shared_name,
        name=name or "batch",
        **options,
    )
    return _loop(request)


@takes_options
def shuffle_batch(
    tensors: Any,
    batch_size: int,
    capacity: int | None = None,
    min_after_dequeue: int = 1000,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Sequence[Any] | None = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
    *,
    dynamic_pad: bool = False,
    **options: Unpack[BatchOptions],
) -> Batches[Any]:
    """Make batches of examples drawn at random from a pool that threads keep filled.

    See `batch` for the arguments that are not listed here.

    Args:
        capacity: Capacity of the pool, in examples; None for `min_after_dequeue + (num_threads + 3) * batch_size`.
        min_after_dequeue: Examples that stay in the pool after a batch is drawn. More of them shuffle better, take
            more memory and delay the first batch. Must be less than `capacity`.
        seed: Seed of the draws. It fixes the batches of a deterministic loop, and those of one with `num_threads=0`,
            where the pool holds `min_after_dequeue` examples after each batch, or up to `capacity` if the source gives
            blocks. Of others it fixes the draws, if there is one thread, but not how full the pool is at each of them.
        name: Name of the queue, `shuffle_batch` by default.

    Raises:
        ValueError: `capacity` is not above `min_after_dequeue`.

    Examples:
        >>> with pipeline.shuffle_batch(
        ...     np.arange(8), 4, capacity=20, min_after_dequeue=10, seed=1, deterministic=True
        ... ) as batches:
        ...     [numbers.tolist() for numbers in batches]
        [[7, 3, 6, 2], [1, 4, 0, 5]]
    """
    capacity = pool_capacity(capacity, min_after_dequeue, num_threads, batch_size)
    check_min_after_dequeue(capacity, min_after_dequeue)
    request = Request(
        sources=[tensors],
        num_threads=num_threads,
        batch_size=batch_size,
        capacity=capacity,
        min_after_dequeue=min_after_dequeue,
        seed=seed_of(seed),
        seeded=seed is not None,
        enqueue_many=enqueue_many,
        shapes=shapes,
        dynamic_pad=dynamic_pad,
        allow_smaller_final_batch=allow_smaller_final_batch,
        shared_name=shared_name,
        name=name or "shuffle_batch",
        **options,
    )
    return _loop(request)


@takes_options
def batch_join(
    tensors_list: Sequence[Any],
    batch_size: int,
    capacity: int | None = None,
    enqueue_many: bool = False,
    shapes: Sequence[Any] | None = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
    *,
    num_threads: int | None = None,
    **options: Unpack[BatchOptions],
) -> Batches[Any]:
    """Make batches of the examples of several sources, each with a thread of its own.

    The examples of one source stay in order. Those of different sources mix as they come; in a deterministic loop the
    sources take turns, one call each, until they end. The input ends when the last source ends. The first source that
    has an example decides the container, dtypes and shapes: the examples of the others must have the same keys, or at
    least as many components (the rest is dropped), of the same dtypes.

    See `batch` for the result and the arguments that are not listed here.

    Args:
        tensors_list: The sources, a list or tuple of what `batch` takes as one.
        num_threads: None: each source has a thread. 0: the thread that asks for a batch calls the sources, in turns;
            see `batch`.
        name: Name of the queue, `batch_join` by default.

    Raises:
        ValueError: There is no source.
        TypeError: `tensors_list` is no list, or something in it is no source.
    """
    request = Request(
        sources=_sources(tensors_list),
        num_threads=num_threads,
        joined=True,
        batch_size=batch_size,
        capacity=batch_capacity(capacity, batch_size),
        enqueue_many=enqueue_many,
        shapes=shapes,
        dynamic_pad=dynamic_pad,
        allow_smaller_final_batch=allow_smaller_final_batch,
        shared_name=shared_name,
        name=name or "batch_join",
        **options,
    )
    return _loop(request)


@takes_options
def shuffle_batch_join(
    tensors_list: Sequence[Any],
    batch_size: int,
    capacity: int | None = None,
    min_after_dequeue: int = 1000,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Sequence[Any] | None = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
    *,
    dynamic_pad: bool = False,
    num_threads: int | None = None,
    **options: Unpack[BatchOptions],
) -> Batches[Any]:
    """Make batches of examples drawn at random from a pool that several sources fill, each with a thread of its own.

    See `batch_join` for the sources and `num_threads`, `shuffle_batch` for the pool, and `batch` for what is left.

    Raises:
        InvalidArgumentError: `capacity` is not above `min_after_dequeue`. A ValueError too.
    """
    sources = _sources(tensors_list)
    capacity = pool_capacity(capacity, min_after_dequeue, len(sources), batch_size)
    check_joined_min_after_dequeue(capacity, min_after_dequeue)
    request = Request(
        sources=sources,
        num_threads=num_threads,
        joined=True,
        batch_size=batch_size,
        capacity=capacity,
        min_after_dequeue=min_after_dequeue,
        seed=seed_of(seed),
        seeded=seed is not None,
        enqueue_many=enqueue_many,
        shapes=shapes,
        dynamic_pad=dynamic_pad,
        allow_smaller_final_batch=allow_smaller_final_batch,
        shared_name=shared_name,
        name=name or "shuffle_batch_join",
        **options,
    )
    return _loop(request)


def _loop(request: Request) -> Batches[Any]:
    return Batches(OrderedFeed(request) if is_deterministic(request) else Feed(request))


def _sources(given: Any) -> list[Any]:
    if not isinstance(given, (list, tuple)):
        raise TypeError(f"tensors_list must be a list of sources, one for each thread, not {given!r:.80}")
    if not given:
        raise ValueError("Expected at least one set of tensors: tensors_list is empty")
    return list(given)
