"""Position: a StatefulDataLoader's state, with or without workers, from this package or torchdata."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from pipeline.errors import StateMismatchError, invalid, told


class Position(NamedTuple):
    """A position in an epoch.

    Attributes:
        main: The sampler's and the loader's state in the caller.
        workers: The workers' dataset states; one if the caller makes batches.
        num_workers: Number of workers; 0 if the caller makes batches.
        step: Number of batches delivered before these states.
        since: Number of batches delivered after them.
        last: Worker index for the last batch before them.
        finished: True if the caller has seen the epoch's end.
    """

    main: dict[str, Any]
    workers: list[dict[str, Any]]
    num_workers: int
    step: int
    since: int
    last: int
    finished: bool

    @property
    def stateless(self) -> bool:
        """True if neither datasets nor their iterators had a state."""
        return all(
            each["dataset_state"] is None and (each["fetcher_state"] or {}).get("dataset_iter_state") is None
            for each in self.workers
        )

    def check(self, count: int, iterable: bool) -> None:
        """Raise StateMismatchError for a wrong number of workers."""
        if count != self.num_workers and (iterable or not self.stateless):
            why = "each worker reads its part" if iterable else "the dataset has a state in each worker"
            text = told("StatefulDataLoader: num_workers", self.num_workers, count)
            raise StateMismatchError([("num_workers", self.num_workers, count)], f"{text}: {why}")

    def state(self) -> dict[str, Any]:
        """Return the state, in torchdata's form."""
        if not self.num_workers:
            (worker,) = self.workers
            return {**self.main, "_num_yielded": self.step, **worker, "_iterator_finished": self.finished}
        snapshot = {
            "_snapshot_step": self.step,
            "_last_yielded_worker_id": self.last,
            "_main_snapshot": {"_num_workers": self.num_workers, **self.main},
            "_worker_snapshots": {f"worker_{i}": each for i, each in enumerate(self.workers)},
        }
        return {"_snapshot": snapshot, "_steps_since_snapshot": self.since, "_iterator_finished": self.finished}


def position_of(state: Any) -> Position:
    """Return a state's position.

    Raises:
        InvalidArgumentError: It is not a state.
    """
    try:
        if "_snapshot" not in state:
            worker = {"fetcher_state": state["fetcher_state"], "dataset_state": state["dataset_state"]}
            main = {name: value for name, value in state.items() if name not in worker}
            step, finished = main.pop("_num_yielded"), main.pop("_iterator_finished")
            return Position(main, [worker], 0, step, 0, -1, finished)
        snapshot = state["_snapshot"]
        main = dict(snapshot["_main_snapshot"])
        count = main.pop("_num_workers")
        workers = [snapshot["_worker_snapshots"][f"worker_{i}"] for i in range(count)]
        step, last = snapshot["_snapshot_step"], snapshot["_last_yielded_worker_id"]
        return Position(main, workers, count, step, state["_steps_since_snapshot"], last, state["_iterator_finished"])
    except (KeyError, TypeError, ValueError) as error:
        what = "a dict" if isinstance(state, Mapping) else f"{state!r:.80}"
        text = f"load_state_dict: expected what state_dict of a StatefulDataLoader returned, got {what}"
        raise invalid(f"{text}: {type(error).__name__}: {error}") from error
