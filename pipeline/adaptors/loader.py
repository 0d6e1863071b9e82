"""Loader: what the adaptors to other libraries share. Epochs of batches, each made something else."""

from __future__ import annotations

import collections
import json
from collections.abc import Collection, Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from pipeline._next import Handing, Next
from pipeline.adaptors.rounds import Round, round_of
from pipeline.adaptors.structure import Change, in_c
from pipeline.datasets.share import Share
from pipeline.dtypes import integer
from pipeline.errors import FailedPreconditionError, invalid

if TYPE_CHECKING:
    from pipeline.monitoring.report import Report

_FORMAT = "queue-runner/loader"
_KEYS = {"format", "round", "over", "loop"}

Self = TypeVar("Self", bound="Loader")


class Loader:
    """Epochs of the batches of a dataset, each made what another library takes. Subclasses say what that is.

    Each `iter` begins the next epoch, in another random order if the dataset is shuffled, also where the epoch before
    was left in the middle. Only after `load_state_dict` it goes on with the epoch of the state. Sources that cannot be
    read again are read on.

    Thread safety: one thread at a time may use a loader.
    """

    def __init__(self, data: Any, ahead: int) -> None:
        """Made by subclasses.

        Args:
            data: A dataset of batches, or its iterator.
            ahead: How many batches are converted before they are asked for.

        Raises:
            TypeError: `data` is something else, or `ahead` is not an integer.
            ValueError: `ahead` is negative or above 64.
        """
        self._round = round_of(data, type(self).__name__.lstrip("_"))
        self._ahead = integer(ahead, "prefetch")
        if not 0 <= self._ahead <= 64:
            raise ValueError(f"prefetch must be at least 0 and at most 64, got {ahead}")
        self._convert: Change | None = None  # once there is a batch
        self._in_one_step = False  # whether a batch is converted in C, and nothing else is done to it
        self._ready: collections.deque[Any] = collections.deque()  # batches that were not asked for yet
        self._made = 0  # how many of them are converted: all, or all but the last
        self._end: Exception | None = None  # what `next` of the loop raised in this epoch
        self._epoch = 0  # counts the calls of `iter`: only the iterator of the last one gives batches
        self._handing = Handing()  # of this iterator
        self._inside = False  # batches of this epoch were taken, and its end was not seen
        self._over = False  # the end of the last epoch was seen
        self._closed = False
        self._told_epoch: int | None = None

    # What subclasses say

    def _shard(self) -> tuple[int, int]:
        """(index, count): the share of this process."""
        return 0, 1

    def _conversion(self, batch: Any) -> Change:
        """What is done to all batches; this is the first one."""
        raise NotImplementedError

    _waits = False  # whether `_given` does something

    def _given(self, batch: Any) -> Any:
        """A converted batch, now that it is asked for."""
        return batch

    _alike = False  # whether all processes have copies of one input, with its seeds
    _equal = True  # whether each process must have as many batches

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
        """How many batches an epoch has; TypeError if that is not known."""
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
        behind = self._inside
        if self._over:
            loaded = not here.begun()
            here.go_on()  # says so if there is no next epoch
            behind = loaded or here.at_end()
        if behind and here.starts_over and not self._closed:
            self._replace(here.another())
        self._inside = self._over = False
        self._end = None
        self._other_iterator()
        return _Epoch(self, self._epoch, self._handing)

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch, counted from 0, the next batch begins; in the middle of one it does nothing.

        Epochs are counted anyway. This is for programs that resume without a state, and for Lightning.
        """
        self._told_epoch = integer(epoch, "epoch")
        self._handing.end()

    def _go_to_epoch(self, epoch: int) -> None:
        self._told_epoch = None
        if not self._inside and epoch != self._round.number and self._round.starts_over:
            self._replace(self._round.another(epoch))

    def _replace(self, other: Round) -> None:
        """Go on with another round, and leave the last one."""
        before, self._round = self._round, other
        self._forget()
        self._end = None
        before.close()

    def _next(self, epoch: int) -> Any:
        """The next batch of an epoch, unless another one has begun."""
        if epoch != self._epoch:
            if self._closed:
                raise StopIteration
            text = f"{self!r}: another iter() has begun an epoch since this one. For two at once make two loaders"
            raise FailedPreconditionError(None, None, text)
        if self._told_epoch is not None:
            self._go_to_epoch(self._told_epoch)
        ready = self._ready
        self._inside = True
        self._handing.end()
        while self._end is None and (self._made < len(ready) or len(ready) <= self._ahead):
            try:
                if self._made == len(ready):
                    # In C from the loop to where it waits: between two steps of Python, Ctrl-C could lose it.
                    ready += map(next, (self._round.batches,))
                if self._made == len(ready):
                    self._end = StopIteration()
                else:
                    convert = self._convert or self._first_conversion(ready[-1])
                    ready[-1] = convert(ready[-1])
                    self._made += 1
            except Exception as error:  # the batches before come first
                self._end = error
        if self._made:
            if self._in_one_step and self._end is None and self._convert is not None:
                self._handing.begin(self._round.batches, self._convert, ready)
            batch = self._waited_for(ready[0]) if self._waits else ready[0]
            del ready[0]  # without a call: between two of them, Ctrl-C could lose the batch
            self._made -= 1
            return batch
        if isinstance(self._end, StopIteration):
            self._inside, self._over = False, True
            raise StopIteration
        assert self._end is not None
        raise self._end

    def _waited_for(self, batch: Any) -> Any:
        try:
            return self._given(batch)
        except Exception as error:  # nothing comes after it
            self._forget()
            self._end = error
            raise

    def _failed_by(self, error: Exception) -> bool:
        """Whether this error has ended the epoch."""
        return error is self._end

    def _first_conversion(self, batch: Any) -> Change:
        self._convert = convert = self._conversion(batch)
        self._in_one_step = in_c(convert) and not self._ahead and not self._waits
        return convert

    def close(self) -> None:
        """Stop the threads of the dataset; does nothing the second time.

        Raises:
            Exception: As `close` of the iterator.
        """
        self._leave()
        self._round.close()

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _leave(self) -> None:
        self._closed = True
        self._other_iterator()
        self._forget()

    def _other_iterator(self) -> None:
        """Let the iterator of this epoch give nothing more."""
        self._handing.end()
        self._handing = Handing()
        self._epoch += 1

    def _forget(self) -> None:
        """Drop the batches that were not asked for."""
        self._ready.clear()
        self._made = 0

    # States

    def state_dict(self) -> dict[str, Any]:
        """The state after the last batch that was asked for: a dict of the same few keys each time, with plain values.

        Save it together with the model.

        Raises:
            FailedPreconditionError: A source cannot go back to a position.
        """
        here = self._here()
        try:
            text = json.dumps(here.state(len(self._ready)))
        except FailedPreconditionError as error:
            if not here.starts_over:
                raise
            self._without_state(error)
            text = ""
        return {"format": _FORMAT, "round": here.number, "over": self._over, "loop": text}

    def load_state_dict(self, state_dict: Mapping[str, Any], *, allow: Collection[str] = ()) -> None:
        """Go on from a state: the next `iter` continues its epoch, or begins the next one if that was over.

        Args:
            state_dict: What `state_dict` returned, of a loader whose dataset was made in the same way.
            allow: Differences to accept; see `DatasetIterator.load_state_dict`. Where several processes share a
                dataset, their number may differ, if together they take as many examples.

        Raises:
            StateMismatchError: It was saved by another dataset, or over other files.
            InvalidArgumentError: It is no state.
            FailedPreconditionError: The input has begun, and its source cannot be read again.
        """
        if not isinstance(state_dict, Mapping) or set(state_dict) != _KEYS or state_dict["format"] != _FORMAT:
            raise invalid(f"load_state_dict: expected what a loader's state_dict returned, got {state_dict!r:.80}")
        here, over = self._here(), bool(state_dict["over"])
        if state_dict["loop"]:
            other = here.load(json.loads(state_dict["loop"]), {*allow, *self._allowed()})
        else:  # that of an epoch
            other = here.another(int(state_dict["round"])) if here.starts_over else here
        if other is not here:
            self._replace(other)
        self._inside, self._over = False, over
        self._other_iterator()

    def _without_state(self, error: FailedPreconditionError) -> None:
        """Raise the error of a dataset that has no position; or accept that its state only says which epoch it is."""
        raise error

    def _allowed(self) -> tuple[str, ...]:
        return ("shard",) if self._shard()[1] > 1 else ()


class _Epoch(Next[Any], Iterator[Any]):
    """The batches of one epoch. An error ends it; after Ctrl-C it goes on."""

    def __init__(self, loader: Loader, epoch: int, handing: Handing) -> None:
        self._loader: Loader | None = loader  # None at the end
        self._number = epoch
        self._hands_on(handing)

    def _take(self, deadline: None) -> Any:
        loader = self._loader
        if loader is None:
            raise StopIteration
        try:
            return loader._next(self._number)
        except Exception as error:
            if isinstance(error, StopIteration) or loader._failed_by(error):
                self._loader = None
            raise
