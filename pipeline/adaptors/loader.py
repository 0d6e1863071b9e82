"""Loader: epochs with batches converted for another library; the adaptors' base class."""

from __future__ import annotations

import collections
import json
from collections.abc import Collection, Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from pipeline.adaptors.epoch import Epoch
from pipeline.adaptors.rounds import Round, round_of
from pipeline.datasets.dataset import Dataset
from pipeline.datasets.share import Share, draw_seeds
from pipeline.dtypes import integer
from pipeline.errors import FailedPreconditionError, invalid
from pipeline.logs import logger
from pipeline.resume.form import refuse_whole
from pipeline.tracebacks import from_handler

if TYPE_CHECKING:
    from pipeline.reports.report import Report

_FORMAT = "queue-runner/loader"
_KEYS = {"format", "round", "over", "loop"}

_log = logger("pipeline.batches")

Self = TypeVar("Self", bound="Loader")


class Loader:
    """Epochs of a dataset's batches, each converted for another library. Subclasses convert them.

    Each `iter` begins the next epoch, in another random order if the dataset is shuffled, even if you left the last one
    early. Only after `load_state_dict` does it continue the state's epoch. Sources readable only once continue after
    their last batch.

    After Ctrl-C the next call continues with the next batch, as `DatasetIterator` does.

    Thread safety: one thread at a time may use a loader.
    """

    def __init__(self, data: Any, ahead: int) -> None:
        """Initialise the loader; subclasses call this.

        Args:
            data: A dataset of batches, or its iterator.
            ahead: Number of batches to convert ahead of requests.

        Raises:
            TypeError: `data` is something else, or `ahead` is not an integer.
            ValueError: `ahead` is negative or above 64.
        """
        self.data = data
        self._round = round_of(data, self.called or type(self).__name__.lstrip("_"))
        self._ahead = integer(ahead, "prefetch")
        if not 0 <= self._ahead <= 64:
            raise ValueError(f"prefetch must be at least 0 and at most 64, got {ahead}")
        self._held: collections.deque[Any] = collections.deque()  # not handed out; the last may not be converted yet
        self._end: Exception | None = None  # follows those: an error, or StopIteration; None: more batches
        self._iters = 0  # number of iterators so far; only the last one delivers batches
        self._inside = False  # True if this epoch's batches were taken, and its end was not seen
        self._over = False  # True once the last epoch's end was seen
        self._closed = False
        self._told_epoch: int | None = None
        self._relative = False  # True if epochs may count from this process's first one
        self._shift = 0  # added to such numbers, after a state was loaded
        self._loaded: tuple[int, bool] | None = None  # (epoch, ended) from a loaded state, until its first batch

    # For subclasses

    def _shard(self) -> tuple[int, int]:
        """Return (index, count): this process's shard."""
        return 0, 1

    def _convert(self, batch: Any) -> Any:
        """Convert a batch for the library."""
        raise NotImplementedError

    def _given(self, batch: Any) -> Any:
        """Return a converted batch on request."""
        return batch

    def _left(self, number: int) -> None:
        """Called when an iterator has ended, was dropped or is closed; they are counted from 1."""

    called = ""  # its public name, if not the class's name
    fixed = False  # True if each epoch repeats the first one
    _alike = False  # True if all processes have copies of one input, with its seeds
    _equal = True  # True if each process must have the same number of batches
    _pads = False  # True if shards are padded instead of dropping batches at the end

    # Epochs

    @property
    def loop(self) -> Any:
        """The iterator over the epoch's batches; with several processes, over this process's shard."""
        return self._here().batches

    def _here(self) -> Round:
        self._round = self._round.share(Share(*self._shard(), self._alike, self._equal, self._pads))
        return self._round

    def report(self) -> Report:
        """Return the epoch's bottlenecks, as the iterator's `report` does."""
        found: Report = self.loop.report()
        return found

    def __len__(self) -> int:
        """Return the number of batches per epoch; TypeError if unknown."""
        return len(self._here())

    def __bool__(self) -> bool:
        return True  # always: the number of batches may be unknown

    def __repr__(self) -> str:
        return f"<{self.called or type(self).__name__} over {self._round!r}>"

    def __iter__(self) -> Iterator[Any]:
        """Begin an epoch.

        Raises:
            FailedPreconditionError: There are several processes, and the input cannot be split among them. Or the
                loader is closed.
        """
        if self._closed:
            raise FailedPreconditionError(None, None, f"{self!r} is closed: make another loader")
        self._begin()
        return Epoch(self, self._iters)

    def _begin(self) -> None:
        """Begin an epoch for the iterator with the next number."""
        here = self._here()
        if self._over:
            here.warn_at_end()
        if (self._inside or self._over) and here.starts_over and not self._closed:
            self._replace(here.another(here.number if self.fixed else None))
        self._inside = self._over = False
        self._end = None
        self._iters += 1

    def from_start(self) -> Iterator[Any]:
        """Begin an epoch as `iter` does, but at its first batch, also if a state from its middle was loaded.

        Raises:
            FailedPreconditionError: The input can be read only once, and has begun.
        """
        batches = iter(self)
        if self._round.batches._begun or self._round.batches._loaded is not None:
            if not self._round.starts_over:
                raise FailedPreconditionError(None, None, f"{self!r} can be read only once, and has begun")
            self._replace(self._round.another(self._round.number))
        return batches

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch for the next `iter`, counted from 0; does nothing within an epoch.

        The loader counts epochs anyway. Call this if your program counts them too: `iter` then begins the named epoch,
        continues it after you loaded a state from its middle, and is empty after you loaded a state from its end.
        """
        self._told_epoch, self._relative, self._shift = integer(epoch, "epoch"), False, 0

    def count_epoch(self, epoch: int) -> None:
        """As `set_epoch`, for programs such as Fabric's with numbers that may restart at 0 in each process.

        After loading a state, a lower number means the state's epoch, and the next number the next epoch.
        """
        self._told_epoch, self._relative = integer(epoch, "epoch"), True

    def skip(self, n: int) -> None:
        """Skip an epoch's next n batches, before its first batch."""
        if self._told_epoch is not None:
            self._go_to_told_epoch()
        self._round.skip(n)

    def _replace(self, other: Round) -> None:
        """Continue with another round, and close the last one."""
        before, self._round = self._round, other
        self._held.clear()
        self._end = None
        before.batches.close()

    def _first(self, number: int) -> Any:
        """Return the next batch for the iterator with this number, and keep holding it.

        Raises:
            StopIteration: The epoch is over.
            FailedPreconditionError: There is a later iterator.
        """
        if number != self._iters:
            if self._closed:
                raise StopIteration
            text = f"{self!r}: a later iter() has begun another epoch. For two at the same time make two loaders"
            raise FailedPreconditionError(None, None, text)
        if self._told_epoch is not None:
            self._go_to_told_epoch()
        self._loaded = None
        self._inside = True
        self._fill()
        if self._held and type(self._held[0]) is _Converted:
            return self._asked_for(self._held[0].batch)
        assert self._end is not None
        if isinstance(self._end, StopIteration):
            self._inside, self._over = False, True
            raise StopIteration
        raise self._end

    def _go_to_told_epoch(self) -> None:
        """Replace the round by the set epoch's, at the beginning of an epoch.

        Raises:
            StopIteration: It is the loaded state's epoch, with no batches left.
        """
        told, self._told_epoch = self._told_epoch, None
        if told is None or self._inside or self.fixed or not self._round.starts_over:
            return
        loaded, self._loaded = self._loaded, None
        if loaded is not None:
            number, over = loaded
            if not self._relative and over and told == number:
                _log.info("%r: the state was saved at the end of epoch %s, so no batches of it are left", self, told)
                raise StopIteration
            self._shift = max(0, number + over - told) if self._relative else 0
        told += self._shift
        if told != self._round.number:
            self._replace(self._round.another(told))

    def _fill(self) -> None:
        """Convert batches until there is one to hand out, and `ahead` more; or the end, or an error."""
        held = self._held
        while self._end is None:
            raw = bool(held) and type(held[-1]) is not _Converted
            if not raw and len(held) > self._ahead:
                return
            try:
                if raw:
                    held[-1] = _Converted(self._convert(held[-1]))
                elif not self._take():
                    self._end = StopIteration()
            except Exception as error:
                if from_handler(error):
                    raise
                self._end = error  # deliver the batches before it first

    def _take(self) -> bool:
        """Hold the next batch, not converted yet; return False at the end."""
        count = len(self._held)
        self._held.extend(map(next, (self._round.batches,)))  # one call: between two, Ctrl-C could lose the batch
        return len(self._held) > count

    def _asked_for(self, batch: Any) -> Any:
        try:
            return self._given(batch)
        except Exception as error:
            if not from_handler(error):  # nothing follows it
                self._held.clear()
                self._end = error
            raise

    @property
    def at_end(self) -> bool:
        """True if the epoch has no batches left, known before its end only by read-ahead."""
        return not self._held and isinstance(self._end, StopIteration)

    def close(self) -> None:
        """Stop the dataset's threads; does nothing the second time.

        Raises:
            Exception: As for the iterator's `close`.
        """
        self._left(self._iters)
        self._closed = True
        self._iters += 1
        self._held.clear()
        self._round.batches.close()

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    # States

    def state_dict(self, *, behind: int = 0) -> dict[str, Any]:
        """Return the state after the last batch you got: a dict of the same few keys each time, with plain values.

        Save it together with the model.

        Args:
            behind: Go back this many batches, for batches you took but have not trained on yet: at most 64, minus
                the batches converted ahead.

        Raises:
            FailedPreconditionError: A source cannot be rewound.
            TypeError, ValueError: `behind` is not an integer, or there were fewer batches.
        """
        here = self._here()
        behind = integer(behind, "state_dict: behind")
        if behind < 0:
            raise invalid(f"state_dict: behind must be at least 0, got {behind}")
        try:
            text = json.dumps(here.batches._saved(len(self._held) + behind, self._over and not behind))
        except FailedPreconditionError as error:
            if not here.starts_over:
                raise
            self._without_state(error)
            text = ""
        return {"format": _FORMAT, "round": here.number, "over": self._over and not behind, "loop": text}

    def load_state_dict(self, state_dict: Mapping[str, Any], *, allow: Collection[str] = ()) -> None:
        """Continue from a state: the next `iter` continues its epoch, or begins the next one if its loop had ended.

        Args:
            state_dict: A result of `state_dict` from a loader over an equal dataset.
            allow: Differences to accept; see `DatasetIterator.load_state_dict`. The number of processes sharing a
                dataset may differ.

        Raises:
            StateMismatchError: It was saved by another dataset, or over other files.
            InvalidArgumentError: It is not a state.
            FailedPreconditionError: The input has begun, and its source cannot be read again.
        """
        if not isinstance(state_dict, Mapping) or set(state_dict) != _KEYS or state_dict["format"] != _FORMAT:
            refuse_whole(state_dict, _FORMAT, "loader")
            raise invalid(f"load_state_dict: expected what a loader's state_dict returned, got {state_dict!r:.80}")
        try:
            state = json.loads(state_dict["loop"]) if state_dict["loop"] else None
            number = integer(state_dict["round"], "round")
        except (TypeError, ValueError) as error:
            raise invalid(f"load_state_dict: the state is damaged: {error}") from error
        here = self._here()
        other = here
        if state is not None:
            other = here.load(state, allow)
        elif here.starts_over:  # the state only contains the epoch
            other = here.another(number)
        if other is not here:
            self._replace(other)
        self._inside, self._over = False, bool(state_dict["over"])
        self._loaded, self._told_epoch = (number, self._over), None
        self._iters += 1

    def state_if_begun(self) -> dict[str, Any] | None:
        """Return the state, for a copy; None if nothing was read or loaded, and no epoch was left."""
        batches = self._round.batches
        fresh = not (batches._begun or self._over or self._inside or self._loaded)
        return None if fresh else self.state_dict()

    def seeded(self) -> Any:
        """Return the input for a copy in another process, with drawn seeds."""
        if isinstance(self.data, Dataset):
            draw_seeds(self.data)
        return self.data

    def _without_state(self, error: FailedPreconditionError) -> None:
        """Raise the error from a dataset without a state; or return, if a state may restart the epoch."""
        raise error


class _Converted:
    """A batch converted for the library.

    Args:
        batch: The batch.
    """

    __slots__ = ("batch",)

    def __init__(self, batch: Any) -> None:
        self.batch = batch
