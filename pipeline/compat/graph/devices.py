"""The contexts `device` and `colocate_with`. They only label operations: all run on the CPU."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipeline.compat.graph.tensor import Operation


class Contexts:
    """What the contexts that a graph is in ask of new operations."""

    def __init__(self) -> None:
        self.devices: list[Callable[[Operation], str] | None] = []
        self.colocations: list[Operation] = []
        self.controllers: list[Controller] = []


class LocalContexts(threading.local, Contexts):
    """The same for each thread by itself. It begins in the contexts that the graph was in."""

    def __init__(self, before: Contexts) -> None:
        super().__init__()
        self.devices, self.colocations = before.devices, before.colocations
        self.controllers = before.controllers


class Controller:
    """One context of control dependencies, and the operations made in it."""

    def __init__(self, control_inputs: list[Operation]) -> None:
        self.control_inputs = control_inputs
        self.seen: set[Operation] = set()


class Placement:
    """The part of a graph that gives operations their devices."""

    def __init__(self) -> None:
        self._contexts = Contexts()

    def switch_to_thread_local(self) -> None:
        """Let `device`, `colocate_with` and `control_dependencies` hold for the thread that enters them alone."""
        if not isinstance(self._contexts, LocalContexts):
            self._contexts = LocalContexts(self._contexts)

    def _place(self, op: Operation) -> None:
        """Set an operation's device and colocation groups."""
        op._device = ""
        for function in reversed(self._contexts.devices):
            if function is None:
                break
            op._device = function(op)
        if self._contexts.colocations:
            near = self._contexts.colocations[::-1]
            op._device = next((each._device for each in near if each._device), op._device)
            groups = sorted({group for each in near for group in each.colocation_groups()})
            op.attrs = {**op.attrs, "_class": groups}

    @contextlib.contextmanager
    def device(self, device_name_or_function: Any) -> Iterator[None]:
        """Give the operations made within the context a device.

        The device shows in their `device` attribute; it does not change where they run.

        Args:
            device_name_or_function: A name, a DeviceSpec, or a function of the operation. Outer contexts fill in what
                it leaves open; None makes the operations ignore the outer contexts.

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

    @contextlib.contextmanager
    def colocate_with(self, op: Any, ignore_existing: bool = False) -> Iterator[None]:
        """Give the operations made within the context the device of another operation.

        Args:
            op: An operation, or what has one, such as a tensor.
            ignore_existing: Ignore the outer colocations; `op` may then be None.

        Raises:
            ValueError: `op` is None without `ignore_existing`.
        """
        if op is None and not ignore_existing:
            raise ValueError("Trying to reset colocation (op is None) but ignore_existing is not True")
        devices, near = self._contexts.devices, self._contexts.colocations
        self._contexts.devices = []
        self._contexts.colocations = [] if ignore_existing else near
        if op is not None:
            op = getattr(op, "_as_graph_element", lambda: op)()
            self._contexts.colocations = [*self._contexts.colocations, getattr(op, "op", op)]
        try:
            yield
        finally:
            self._contexts.devices, self._contexts.colocations = devices, near
