"""The context `device`. It only labels operations: all run on the CPU."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipeline.compat.graph.tensor import Operation


class Contexts:
    """Requirements on new operations from a graph's contexts."""

    def __init__(self) -> None:
        self.devices: list[Callable[[Operation], str] | None] = []
        self.controllers: list[Controller] = []


class LocalContexts(threading.local, Contexts):
    """Per-thread contexts. Each thread begins with the graph's earlier ones."""

    def __init__(self, before: Contexts) -> None:
        super().__init__()
        self.devices, self.controllers = before.devices, before.controllers


class Controller:
    """One control dependency context, and the operations made in it."""

    def __init__(self, control_inputs: list[Operation]) -> None:
        self.control_inputs = control_inputs
        self.seen: set[Operation] = set()


class Placement:
    """Base class for Graph that sets the devices of operations."""

    def __init__(self) -> None:
        self._contexts = Contexts()

    def switch_to_thread_local(self) -> None:
        """Restrict `device` and `control_dependencies` to the thread that enters them."""
        if not isinstance(self._contexts, LocalContexts):
            self._contexts = LocalContexts(self._contexts)

    def _place(self, op: Operation) -> None:
        """Set an operation's device."""
        op._device = ""
        for function in reversed(self._contexts.devices):
            if function is None:
                break
            op._device = function(op)

    @contextlib.contextmanager
    def device(self, device_name_or_function: Any) -> Iterator[None]:
        """Give the operations made within the context a device.

        The operations' `device` attribute shows it; they run on the CPU regardless.

        Args:
            device_name_or_function: A name, or a function from operation to name. Outer contexts fill in missing parts;
                None makes the operations ignore the outer contexts.

        Raises:
            ValueError: The name is not a device name.
        """
        from pipeline.compat.graph.device_names import device_function  # graphs without devices do without

        old = self._contexts.devices
        self._contexts.devices = [*old, device_function(device_name_or_function)]
        try:
            yield
        finally:
            self._contexts.devices = old
