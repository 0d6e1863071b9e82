"""Epoch: the iterator over a loader's epoch, with the names frameworks use to save and restore it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pipeline.errors import FailedPreconditionError
from pipeline.resume.as_bytes import bytes_of_state, state_of_bytes
from pipeline.tracebacks import show_users


class Epoch(Iterator[Any]):
    """One epoch's batches. An error ends it; after Ctrl-C it continues.

    Megatron-LM calls `save_state` and `restore_state` on an external loader. MaxText calls `get_state` and `set_state`
    on an iterator.

    Thread safety: one thread at a time may use it.
    """

    def __init__(self, loader: Any, number: int) -> None:
        """Make an iterator; `iter(loader)` calls this.

        Args:
            loader: The `Loader`.
            number: Its number among the loader's iterators; only the last one returns batches.
        """
        self._loader = loader
        self._number = number
        self._ended = False

    def __next__(self) -> Any:
        if self._ended:
            raise StopIteration
        loader = self._loader
        try:
            batch = loader._first(self._number)
        except Exception as error:
            show_users(error)  # if Ctrl-C strikes here, the error is raised again
            if isinstance(error, StopIteration) or error is loader._end:
                self._ended = True
                loader._left(self._number)
            raise
        del loader._held[0]  # no call between this and the caller: Ctrl-C in it could lose the batch
        return batch

    def __del__(self, finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        if not self._ended and not finalizing():
            self._loader._left(self._number)

    def save_state(self) -> dict[str, Any]:
        """Return the state after the last batch, as the loader's `state_dict` does.

        Raises:
            FailedPreconditionError: A source cannot be rewound; or a later `iter(loader)` has begun another epoch.
        """
        if self._number != self._loader._iters:
            text = f"{self._loader!r}: a later iter() has begun another epoch, and the state would belong to that"
            raise FailedPreconditionError(None, None, text)
        return self._loader.state_dict()  # type: ignore[no-any-return]

    def restore_state(self, state: Mapping[str, Any]) -> None:
        """Continue with the batch after a state; if its epoch had ended, with the next epoch's first batch.

        Raises:
            StateMismatchError, InvalidArgumentError, FailedPreconditionError: As for the loader's `load_state_dict`.
        """
        self._loader.load_state_dict(state)
        self._loader._begin()
        self._number, self._ended = self._loader._iters, False

    def get_state(self) -> bytes:
        """Return the state after the last batch, as JSON.

        Raises:
            FailedPreconditionError: As for `save_state`.
        """
        return bytes_of_state(self.save_state())

    def set_state(self, state: bytes) -> None:
        """Continue from a result of `get_state`.

        Raises:
            TypeError: `state` is not bytes.
            StateMismatchError, InvalidArgumentError, FailedPreconditionError: As for `restore_state`.
        """
        self.restore_state(state_of_bytes(state))
