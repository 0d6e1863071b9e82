"""LooperThread: call a function repeatedly until its Coordinator stops."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pipeline.dtypes import items, seconds
from pipeline.runners.coordinator import Coordinator


class LooperThread(threading.Thread):
    """A daemon thread that calls a function repeatedly until its coordinator stops.

    Override `start_loop`, `run_loop` and `stop_loop`, or pass a target. An exception goes to `coord.request_stop`.

    Args:
        coord: The thread's Coordinator.
        timer_interval_secs: Seconds between the starts of two calls; None for no pause. Late calls catch up.
        target: Called each time.
        args: Positional arguments for `target`.
        kwargs: Keyword arguments for `target`.

    Raises:
        ValueError: `coord` is not a Coordinator, or there are arguments without a target.
        TypeError: Another argument has a wrong type.

    Examples:
        >>> coord, calls = pipeline.Coordinator(), []
        >>> def count():
        ...     calls.append(1)
        ...     if len(calls) == 3:
        ...         coord.request_stop()
        >>> thread = pipeline.types.LooperThread.loop(coord, None, count)
        >>> coord.join()
        >>> len(calls)
        3
    """

    def __init__(
        self,
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., object] | None = None,
        args: Iterable[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        if not isinstance(coord, Coordinator):
            raise ValueError(f"'coord' argument must be a Coordinator: {coord!r:.80}")
        if target is None and (args or kwargs):
            raise ValueError("'args' and 'kwargs' argument require that you also pass 'target'")
        if target is not None and not callable(target):
            raise TypeError(f"LooperThread: target must be callable or None, got {target!r:.80}")
        if kwargs is not None and not isinstance(kwargs, Mapping):
            raise TypeError(f"LooperThread: kwargs must be a dict of keyword arguments, got {kwargs!r:.80}")
        super().__init__(daemon=True)
        self._coord = coord
        interval = timer_interval_secs
        self._interval = None if interval is None else seconds(interval, "LooperThread: timer_interval_secs")
        self._function = target
        self._arguments = () if args is None else tuple(items(args, "LooperThread: args", "arguments"))
        self._keywords = dict(kwargs or {})
        coord.register_thread(self)

    @staticmethod
    def loop(
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., object] | None = None,
        args: Iterable[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> LooperThread:
        """Create a LooperThread from these arguments, start it and return it."""
        looper = LooperThread(coord, timer_interval_secs, target, args, kwargs)
        looper.start()
        return looper

    def run(self) -> None:
        """Run start_loop, run_loop at each interval, and stop_loop."""
        with self._coord.stop_on_exception():
            self.start_loop()
            if self._interval is None:
                while not self._coord.should_stop():
                    self.run_loop()
            else:
                due = time.monotonic()
                while not self._coord.wait_for_stop(due - time.monotonic()):
                    due += self._interval
                    self.run_loop()
            self.stop_loop()

    def start_loop(self) -> None:
        """Called once before the first `run_loop`."""

    def run_loop(self) -> None:
        """Called each time; calls the target."""
        if self._function is not None:
            self._function(*self._arguments, **self._keywords)

    def stop_loop(self) -> None:
        """Called once after the last `run_loop`, unless an exception ended the loop."""
