"""Loader: epochs of batches, each converted to what another library takes; the base of the adaptors."""

from __future__ import annotations

import collections
import json
from collections.abc import Collection, Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from pipeline.adaptors.rounds import Round, round_of
from pipeline.datasets.share import Share
from pipeline.dtypes import integer
from pipeline.errors import FailedPreconditionError, invalid
from pipeline.tracebacks import from_handler, show_users

if TYPE_CHECKING:
    from pipeline.reports.report import Report

_FORMAT = "queue-runner/loader"
_KEYS = {"format", "round", "over", "loop"}

Self = TypeVar("Self", bound="Loader")


class Loader:
    """Epochs of a dataset's batches, each converted to what another library takes. Subclasses convert them.

    Each `iter` begins the next epoch, in another random order if the dataset is shuffled, even if you left the last one
    early. Only after `load_state_dict` does it continue the epoch of the state. Sources that can be read only once are
    read on.

    After Ctrl-C the next call continues with the next batch, as `DatasetIterator` does.

    Thread safety: one thread at a time may use a loader.
    """

    def __init__(self, data: Any, ahead: int) -> None:
        """Made by subclasses.

        Args:
            data: A dataset of batches, or its iterator.
            ahead: Number of batches to convert before they are asked for.

        Raises:
            TypeError: `data` is something else, or `ahead` is not an integer.
            ValueError: `ahead` is negative or above 64.
        """
        self._round = round_of(data, type(self).__name__.lstrip("_"))
        self._ahead = integer(ahead, "prefetch")
        if not 0 <= self._ahead <= 64:
            raise ValueError(f"prefetch must be at least 0 and at most 64, got {ahead}")
        self._held: collections.deque[Any] = collections.deque()  # not handed out; the last may not be converted yet
        self._end: Exception | None = None  # what comes after those: an error, or StopIteration; None: more batches
        self._iters = 0  # counts the iterators that were made; only the last one gives batches
        self._inside = False  # whether batches of this epoch were taken, and its end was not seen
        self._over = False  # whether the end of the last epoch was seen
        self._closed = False
        self._told_epoch: int | None = None

    # What subclasses say

    def _shard(self) -> tuple[int, int]:
        """Return (index, count): the share of this process."""
        return 0, 1

    def _convert(self, batch: Any) -> Any:
        """Return a batch as the library takes it."""
        raise NotImplementedError

    def _given(self, batch: Any) -> Any:
        """Return a converted batch, now that it is asked for."""
        return batch

    _alike = False  # whether all processes have copies of one input, with its seeds
    _equal = True  # whether each process must have the same number of batches

    # Epochs

    @property
    def loop(self) -> Any:
        """The iterator over the batches of the epoch; where there are several processes, of this one's share."""
        return self._here().batches

    def _here(self) -> Round:
        self._round = self._round.share(Share(*self._shard(), self._alike, self._equal))
        return self._round

    def report(self) -> Report:
        """Return what limits the epoch, as `report` of the iterator."""
        found: Report = self.loop.report()
        return found

    def __len__(self) -> int:
        """Return the number of batches in an epoch; TypeError if it is not known."""
        return len(self._here())

    def __bool__(self) -> bool:
        return True  # not whether there are batches, which may not be known

    def __repr__(self) -> str:
        return f"<{type(self).__name__} over {self._round!r}>"

    def __iter__(self) -> Iterator[Any]:
        """Begin an epoch.

        Raises:
            FailedPreconditionError: There are several processes, and they cannot share the input.
        """
        here = self._here()
        if self._over:
            here.warn_at_end()
        if (self._inside or self._over) and here.starts_over and not self._closed:
            self._replace(here.another())
        self._inside = self._over = False
        self._end = None
        self._iters += 1
        return _Epoch(self, self._iters)

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch, counted from 0, the next batch begins; in the middle of one it does nothing.

        Epochs are counted anyway. This is for programs that resume without a state, and for Lightning.
        """
        self._told_epoch = integer(epoch, "epoch")

    def _replace(self, other: Round) -> None:
        """Continue with another round, and close the last one."""
        before, self._round = self._round, other
        self._held.clear()
        self._end = None
        before.batches.close()

    def _first(self, number: int) -> Any:
        """Return the next batch, which stays the first one held, for an iterator of this number.

        Raises:
            StopIteration: The epoch is over.
            FailedPreconditionError: There is a later iterator.
        """
        if number != self._iters:
            if self._closed:
                raise StopIteration
            text = f"{self!r}: another iter() has begun an epoch since this one. For two at once make two loaders"
            raise FailedPreconditionError(None, None, text)
        if self._told_epoch is not None:
            told, self._told_epoch = self._told_epoch, None
            if not self._inside and told != self._round.number and self._round.starts_over:
                self._replace(self._round.another(told))
        self._inside = True
        self._fill()
        if self._held and type(self._held[0]) is _Converted:
            return self._asked_for(self._held[0].batch)
        assert self._end is not None
        if isinstance(self._end, StopIteration):
            self._inside, self._over = False, True
            raise StopIteration
        raise self._end

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
                self._end = error  # the batches before come first

    def _take(self) -> bool:
        """Hold the next batch, not converted yet; return whether there is one."""
        count = len(self._held)
        self._held.extend(map(next, (self._round.batches,)))  # one call: between two, Ctrl-C could lose the batch
        return len(self._held) > count

    def _asked_for(self, batch: Any) -> Any:
        try:
            return self._given(batch)
        except Exception as error:
            if not from_handler(error):  # nothing comes after it
                self._held.clear()
                self._end = error
            raise

    def close(self) -> None:
        """Stop the threads of the dataset; does nothing the second time.

        Raises:
            Exception: As `close` of the iterator.
        """
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

    def state_dict(self) -> dict[str, Any]:
        """Return the state after the last batch you got: a dict of the same few keys each time, with plain values.

        Save it together with the model.

        Raises:
            FailedPreconditionError: A source cannot be rewound.
        """
        here = self._here()
        try:
            text = json.dumps(here.batches.state_dict(behind=len(self._held)))
        except FailedPreconditionError as error:
            if not here.starts_over:
                raise
            self._without_state(error)
            text = ""
        return {"format": _FORMAT, "round": here.number, "over": self._over, "loop": text}

    def load_state_dict(self, state_dict: Mapping[str, Any], *, allow: Collection[str] = ()) -> None:
        """Continue from a state: the next `iter` continues its epoch, or begins the next one if its loop had ended.

        Args:
            state_dict: What `state_dict` returned, of a loader whose dataset was made in the same way.
            allow: Differences to accept; see `DatasetIterator.load_state_dict`. Where several processes share a
                dataset, their number may differ, if together they take the same number of examples.

        Raises:
            StateMismatchError: It was saved by another dataset, or over other files.
            InvalidArgumentError: It is not a state.
            FailedPreconditionError: The input has begun, and its source cannot be read again.
        """
        if not isinstance(state_dict, Mapping) or set(state_dict) != _KEYS or state_dict["format"] != _FORMAT:
            raise invalid(f"load_state_dict: expected what a loader's state_dict returned, got {state_dict!r:.80}")
        try:
            state = json.loads(state_dict["loop"]) if state_dict["loop"] else None
            number = integer(state_dict["round"], "round")
        except (TypeError, ValueError) as error:
            raise invalid(f"load_state_dict: the state is damaged: {error}") from error
        here = self._here()
        if state is not None:
            other = here.load(state, {*allow, *self._allowed()})
        else:  # it only says which epoch
            other = here.another(number) if here.starts_over else here
        if other is not here:
            self._replace(other)
        self._inside, self._over = False, bool(state_dict["over"])
        self._iters += 1

    def _without_state(self, error: FailedPreconditionError) -> None:
        """Raise the error of a dataset without a state; or return, if a state may begin the epoch again."""
        raise error

    def _allowed(self) -> tuple[str, ...]:
        return ("shard",) if self._shard()[1] > 1 else ()


class _Converted:
    """A batch as the library takes it.

    Args:
        batch: The batch.
    """

    __slots__ = ("batch",)

    def __init__(self, batch: Any) -> None:
        self.batch = batch


class _Epoch(Iterator[Any]):
    """The batches of one epoch. An error ends it; after Ctrl-C it continues."""

    def __init__(self, loader: Loader, number: int) -> None:
        self._loader: Loader | None = loader  # None at the end
        self._number = number

    def __next__(self) -> Any:
        loader = self._loader
        if loader is None:
            raise StopIteration
        try:
            batch = loader._first(self._number)
        except Exception as error:
            show_users(error)  # if Ctrl-C strikes here, the error comes again
            if isinstance(error, StopIteration) or error is loader._end:
                self._loader = None
            raise
        del loader._held[0]  # no call between this and the caller, in which Ctrl-C could lose the batch
        return batch
