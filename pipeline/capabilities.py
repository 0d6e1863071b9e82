"""Capabilities: methods that objects of users and of other libraries may have, a class for each that is looked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class Stateful(Protocol):
    """An iterable, a dataset or a sampler that knows its position, as torchdata's protocol of that name says."""

    def state_dict(self) -> dict[str, Any]:
        """Return the position."""

    def load_state_dict(self, state_dict: dict[str, Any]) -> Any:
        """Continue at a position."""


@runtime_checkable
class SetsEpoch(Protocol):
    """A sampler or dataset whose order depends on the epoch, such as a DistributedSampler."""

    def set_epoch(self, epoch: int) -> Any:
        """Take the order of an epoch."""


@runtime_checkable
class GivesSeveral(Protocol):
    """A map-style dataset that returns several items at once, as PyTorch's DataLoader asks for them."""

    def __getitems__(self, numbers: Sequence[int]) -> Sequence[Any]:
        """Return the items with these numbers."""


@runtime_checkable
class WrapsBatchSampler(Protocol):
    """A batch sampler that Lightning has wrapped, for predictions."""

    _batch_sampler: Any


@runtime_checkable
class ArrowTable(Protocol):
    """A table or series that Arrow can read: of polars, pandas, DuckDB and others."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Return a stream of its batches."""


@runtime_checkable
class LazyFrame(Protocol):
    """A query of polars, which has no rows before `collect`."""

    def collect_schema(self) -> Any:
        """Return names and types of its columns."""


@runtime_checkable
class Tensor(Protocol):
    """A tensor of PyTorch."""

    def resolve_conj(self) -> Any:
        """Return it with numbers that are not conjugated lazily."""

    def resolve_neg(self) -> Any:
        """Return it with numbers that are not negated lazily."""

    def detach(self) -> Any:
        """Return it without its gradient."""
