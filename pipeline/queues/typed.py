"""TypedQueue: the compiled engine and its Python hooks: values in, batches out, waits and errors."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from pipeline._batch import pad, stack
from pipeline._queue import CALLS, FORMS, ORDERS, Engine
from pipeline.diagnostics.frames import note_wait
from pipeline.diagnostics.live import queues
from pipeline.dtypes import STRING, given_name, memory_of, truth
from pipeline.errors import FailedPreconditionError
from pipeline.locks import Lock
from pipeline.queues import texts
from pipeline.queues.base import QueueBase
from pipeline.queues.causes import cause_of_closing
from pipeline.queues.components import Component, Shape, component, parse_count
from pipeline.queues.texts import CALL_NAMES
from pipeline.queues.values import element, elements, infer
from pipeline.queues.waits import Watchdog
from pipeline.stats import QueueStats

_DEQUEUES = frozenset(number for name, number in CALLS.items() if name.startswith("dequeue"))


class TypedQueue(Engine, QueueBase):
    """Base class for all queues: the engine moves slots and bytes, this class checks and converts values.

    Thread safety: as FIFOQueue. `_deciding` guards the components until the first element has fixed them.
    """

    _kind_name: str
    _default_name: str
    _counters: ClassVar[dict[str, Iterator[int]]] = {}
    _components: list[Component] | None
    _names: list[str] | None
    _endless = FailedPreconditionError  # raised by a hook for an endless wait
    _listed = True  # included in reports
    _labels: list[Any] | None = None  # component labels in errors, without names

    def _setup(
        self,
        order: str,
        capacity: int,
        name: str | None,
        components: list[Component] | None,
        names: list[str] | None,
        min_after_dequeue: int = 0,
        seeds: tuple[int, int] = (0, 0),
    ) -> None:
        self._open(ORDERS[order], capacity, min_after_dequeue, *seeds, names is None)
        self._name = self._unique(name)
        self._watchdog = Watchdog(min_after_dequeue)
        self._components = None
        self._names = names
        self._deciding = Lock()
        if components is not None:
            self._decide(components)
        if self._listed:
            queues.add(self)

    def _unique(self, name: str | None) -> str:
        """Return a given name unchanged; number default names from the second queue on."""
        default = type(self)._default_name
        name = given_name(name, "name")
        if name is not None and name != default:
            return name
        number = next(self._counters.setdefault(default, itertools.count()))
        return f"{default}_{number}" if number else default

    def _decide(self, components: list[Component]) -> None:
        self._configure([(each.dtype, FORMS[each.form], each.shape) for each in components])
        self._components = components

    @property
    def _holds_large(self) -> bool:
        """True if rows are large enough to hold handed-over arrays by reference."""
        return self._mixed() and self._names is None

    @property
    def queue_ref(self) -> Any:
        return self

    @property
    def name(self) -> str:
        return self._name

    @property
    def dtypes(self) -> list[np.dtype[Any]]:
        return [STRING if each.form == "bytes" else each.dtype for each in self._components or ()]

    @property
    def shapes(self) -> list[Shape]:
        return [each.shape for each in self._components or ()]

    def __repr__(self) -> str:
        stats = self.stats()
        state = "closed" if stats.closed else "open"
        return f"<{self._kind_name} '{self._name}': {stats.size} of {stats.capacity} elements, {state}>"

    def _repr_html_(self) -> str:
        # Only for notebooks, so other programs need not load it.
        from pipeline.reports.picture import of_queue

        return of_queue(self._kind_name, self.name, self.stats(), self._watchdog.min_after_dequeue)

    def stats(self) -> QueueStats:
        return QueueStats(*self._numbers())

    def close(
        self, cancel_pending_enqueues: bool = False, name: str | None = None, *, timeout: float | None = None
    ) -> None:
        cancel_pending_enqueues = truth(cancel_pending_enqueues, "close: cancel_pending_enqueues")
        first = self._watchdog.closing(cause_of_closing(cancel_pending_enqueues))
        try:
            super().close(cancel_pending_enqueues, name, timeout=timeout)
        except BaseException:
            if first and not self.is_closed():
                self._watchdog.not_closed()
            raise

    close.__doc__ = Engine.close.__doc__

    @property
    def _watched_by(self) -> Watchdog:
        return self._watchdog

    # Hooks for the engine.

    def _about_to_wait(self, call: int) -> float | None:
        note_wait(self, CALL_NAMES[call])
        return self._watchdog.about_to_wait(self, CALL_NAMES[call]) if call in _DEQUEUES else None

    def _still_waiting(self, call: int, waited_s: float) -> float | None:
        return self._watchdog.still_waiting(self, CALL_NAMES[call]) if call in _DEQUEUES else None

    def _where(self, index: int) -> str:
        names = self._names or self._labels
        name = f" ('{names[index]}')" if names else ""
        return f"{self._kind_name} '{self._name}': component {index}{name}"

    def _in_order(self, vals: Any, many: bool) -> tuple[Any, ...]:
        """Return a call's values in component order."""
        if isinstance(vals, dict):
            if self._names is None:
                raise ValueError(
                    f"Queue must have names to enqueue a dictionary; {self._kind_name} '{self._name}' has none"
                )
            if sorted(map(str, vals)) != sorted(map(str, self._names)):
                raise ValueError(
                    "Keys in dictionary to enqueue do not match names of Queue. "
                    f"Dictionary: ({', '.join(sorted(map(str, vals)))}), Queue: ({', '.join(sorted(self._names))})"
                )
            values = tuple(vals[name] for name in self._names)
        elif self._names is not None:
            raise ValueError(f"You must enqueue a dictionary in a Queue with names; the names are {self._names}")
        else:
            values = tuple(vals) if isinstance(vals, (list, tuple)) else (vals,)
        if not values:
            raise (IndexError if many else ValueError)(f"{self._kind_name} '{self._name}': no value to enqueue")
        return values

    def _convert(self, vals: Any, many: bool) -> tuple[Any, ...]:
        """Convert a call's values to slot form; errors name the component and the reason."""
        if self._components is None:
            with self._deciding:
                if self._components is None:
                    self._infer(vals, many)
        assert self._components is not None
        values = self._in_order(vals, many)
        if len(values) != len(self._components):
            raise texts.signature_mismatch(f"{self._kind_name} '{self._name}'", values, self._components, many)
        pairs = list(zip(values, self._components, strict=True))
        if not many:
            return tuple(element(value, each, i, self._where(i)) for i, (value, each) in enumerate(pairs))
        converted, count = [], None
        for i, (value, each) in enumerate(pairs):
            length = self._rows_of(i, value)
            if length < 0 or count not in (None, length):
                value, length = elements(value, each, i, count, self._where(i))
            count = length
            converted.append(value)
        return tuple(converted)

    def _infer(self, vals: Any, many: bool) -> None:
        """Let the first element fix dtypes, shapes and, for a dict, names."""
        if isinstance(vals, dict) and self._names is None:
            self._rename(list(vals))
            try:
                self._infer(vals, many)
            except BaseException:
                if self._components is None:
                    self._rename(None)
                raise
            return
        values = self._in_order(vals, many)
        components = self._describe(values, many)
        for i, (value, each) in enumerate(zip(values, components, strict=True)):  # a bad value must fix nothing
            if many:
                elements(value, each, i, None, self._where(i))
            else:
                element(value, each, i, self._where(i))
        try:
            self._decide(components)
        except RuntimeError:
            if self._components is None:
                raise  # otherwise a signal handler or a value's own code enqueued the first element

    def _describe(self, values: tuple[Any, ...], many: bool) -> list[Component]:
        """Describe the components from their first values."""
        return [component(*infer(value, many, self._where(i))) for i, value in enumerate(values)]

    def _rename(self, names: list[str] | None) -> None:
        self._names = names
        self._direct(names is None)

    def _named(self, values: list[Any]) -> dict[str, Any]:
        assert self._names is not None
        return dict(zip(self._names, values, strict=True))

    def _count(self, n: Any, call: int) -> int:
        return parse_count(n, CALL_NAMES[call])

    def _no_shapes(self) -> Exception:
        return texts.no_shapes(self._kind_name)

    def _failure(self, status: int, call: int, requested: int, current: int) -> Exception:
        return texts.failure(self, self._watchdog, status, call, requested, current)

    def _outputs(self, out: Any) -> tuple[Any, ...]:
        """Return the arrays in `out` in component order."""
        if self._components is None:
            raise ValueError(f"{self._kind_name} '{self._name}': out= needs known dtypes; no element was enqueued yet")
        if self._names is not None:
            if not isinstance(out, dict) or sorted(map(str, out)) != sorted(map(str, self._names)):
                raise ValueError(f"out: expected a dict with the keys {self._names}, got {type(out).__name__}")
            return tuple(memory_of(out[name]) for name in self._names)
        if len(self._components) == 1:
            return (memory_of(out),)
        if not isinstance(out, (list, tuple)) or len(out) != len(self._components):
            raise ValueError(
                f"out: expected a tuple or list of {len(self._components)} arrays, got {type(out).__name__}"
            )
        return tuple(map(memory_of, out))

    def _wrong_out(self, index: int, out: Any, n: int) -> Exception:
        assert self._components is not None
        return texts.wrong_out(
            self._where(index), out, (n, *(self._components[index].shape or ())), self._components[index]
        )

    def _nothing(self, outs: tuple[Any, ...] | None) -> Any:
        """Return the result of dequeue_many(0)."""
        if self._components is None:
            raise texts.no_shapes(self._kind_name)
        values = [
            np.empty((0, *(size or 0 for size in each.shape or ())), dtype=each.dtype) for each in self._components
        ]
        values = values if outs is None else list(outs)
        if self._names is not None:
            return self._named(values)
        return values[0] if len(values) == 1 else values

    def _pack(self, index: int, values: list[Any], out: Any) -> Any:
        """Stack or pad a component's referenced values into a batch."""
        assert self._components is not None
        each = self._components[index]
        if each.shape is not None and None not in each.shape:
            result = stack(values)
        else:
            result = pad(values, value=b"" if each.form == "bytes" else 0)
        if out is None:
            return result
        if out.shape[1:] != result.shape[1:]:
            raise texts.wrong_out(self._where(index), out, result.shape, each)
        out[: len(values)] = result
        return out[: len(values)] if len(out) > len(values) else out
