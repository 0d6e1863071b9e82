"""Device names and their parts, and device names for operations in a `device` context."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipeline.compat.graph.tensor import Operation

_Parts = tuple[Any, ...]  # job, replica, task, type and index; None leaves one open

_TYPES = ("CPU", "GPU", "TPU", "CUSTOM")


def _parse(spec: Any) -> _Parts:
    """Split a name such as "/job:ps/task:0/device:CPU:0" or "/cpu:0"; missing parts are None."""
    job = replica = task = kind = index = None
    for part in (spec or "").split("/"):
        key, *values = part.split(":")
        if len(values) == 1 and key == "job":
            job = values[0]
        elif len(values) == 1 and key == "replica":
            replica = int(values[0])
        elif len(values) == 1 and key == "task":
            task = int(values[0])
        elif (len(values) <= 1 and key.upper() in _TYPES) or (len(values) == 2 and key == "device"):
            if kind is not None:
                raise ValueError(f"Multiple device types are not allowed while parsing the device spec: {spec}.")
            kind = values[0] if len(values) == 2 else key.upper()
            kind = kind.upper() if kind in ("cpu", "gpu") else kind
            index = int(values[-1]) if values and values[-1] != "*" else None
        elif key != "":
            raise ValueError(f"Unknown attribute '{key}' is encountered while parsing the device spec: '{spec}'.")
    return job, replica, task, kind, index


def _name(parts: _Parts) -> str:
    """Join the parts to a name, such as "/device:CPU:0"."""
    *process, kind, index = parts
    said = [
        f"/{what}:{part}" for what, part in zip(("job", "replica", "task"), process, strict=True) if part is not None
    ]
    if kind is not None:
        said.append(f"/device:{kind}:{'*' if index is None else index}")
    return "".join(said)


def device_function(asked: Any) -> Callable[[Operation], str] | None:
    """Return the function that names the device of an operation in a `device` context.

    The operation already has its device from the inner contexts.
    """
    if asked is None:
        return None
    if callable(asked):

        def function(op: Operation) -> str:
            name = asked(op)
            if not isinstance(name, (str, bytes)):
                raise TypeError(f"Expected binary or unicode string, got {name!r}")
            return name if isinstance(name, str) else name.decode()

        return function
    outer = _parse(asked)
    merged: dict[str, str] = {"": _name(outer)}

    def name(op: Operation) -> str:
        inner = op._device
        if inner not in merged:
            pairs = zip(_parse(inner), outer, strict=True)
            merged[inner] = _name(tuple(around if given is None else given for given, around in pairs))
        return merged[inner]

    return name


def replica_device_setter(
    ps_tasks: int = 0,
    ps_device: Any = "/job:ps",
    worker_device: Any = "/job:worker",
    merge_devices: bool = True,
    cluster: Any = None,
    ps_ops: Any = None,
    ps_strategy: Any = None,
) -> None:
    """Return None, which `tf.device` ignores, because without parameter servers there is nothing to place.

    Args:
        ps_tasks: Number of parameter servers: 0.
        ps_device, worker_device, merge_devices, ps_ops, ps_strategy: Accepted for compatibility.
        cluster: None or empty, because a program here is one process.

    Raises:
        ValueError: There are parameter servers.
    """
    if ps_tasks or cluster:
        got = f"ps_tasks={ps_tasks}" if ps_tasks else f"cluster={cluster!r:.80}"
        raise ValueError(
            f"replica_device_setter places variables on parameter servers, but everything here runs in one process: "
            f"got {got}, expected ps_tasks=0 and no cluster"
        )
