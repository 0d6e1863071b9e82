"""Capabilities: optional methods on users' and other libraries' objects, one class each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class Stateful(Protocol):
    """An iterable, dataset or sampler with a position, as in torchdata's protocol with the same name."""

    def state_dict(self) -> dict[str, Any]:
        """Return the position."""

    def load_state_dict(self, state_dict: dict[str, Any]) -> Any:
        """Continue at a position."""


@runtime_checkable
class SetsEpoch(Protocol):
    """A sampler or dataset with an order per epoch, such as a DistributedSampler."""

    def set_epoch(self, epoch: int) -> Any:
        """Use this epoch's order."""


@runtime_checkable
class GivesSeveral(Protocol):
    """A map-style dataset with several items per call, for PyTorch's DataLoader."""

    def __getitems__(self, numbers: Sequence[int]) -> Sequence[Any]:
        """Return the items with these numbers."""


@runtime_checkable
class WrapsBatchSampler(Protocol):
    """A batch sampler wrapped by Lightning, for predictions."""

    _batch_sampler: Any


@runtime_checkable
class ArrowTable(Protocol):
    """A table or series readable by Arrow: from polars, pandas, DuckDB and others."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Return a stream with its batches."""


@runtime_checkable
class LazyFrame(Protocol):
    """A polars query, without rows before `collect`."""

    def collect_schema(self) -> Any:
        """Return its column names and types."""


@runtime_checkable
class Tensor(Protocol):
    """A PyTorch tensor."""

    def resolve_conj(self) -> Any:
        """Return it with conjugation resolved."""

    def resolve_neg(self) -> Any:
        """Return it with negation resolved."""

    def detach(self) -> Any:
        """Return it without its gradient."""
