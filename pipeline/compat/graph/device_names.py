"""DeviceSpec: device names and their parts, and what a `device` context names its operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipeline.compat.graph.tensor import Operation

_TYPES = ("CPU", "GPU", "TPU", "CUSTOM")


def _text(value: Any) -> Any:
    return None if value is None else str(value)


def _number(value: Any) -> Any:
    return None if value is None else int(value)


def _parse(spec: Any) -> tuple[Any, Any, Any, Any, Any]:
    """Split a name such as "/job:ps/task:0/device:CPU:0" or "/cpu:0"; missing parts are None."""
    job = replica = task = kind = index = None
    for part in (spec or "").split("/"):
        key, *values = part.split(":")
        if len(values) == 1 and key == "job":
            job = values[0]
        elif len(values) == 1 and key == "replica":
            replica = values[0]
        elif len(values) == 1 and key == "task":
            task = values[0]
        elif (len(values) <= 1 and key.upper() in _TYPES) or (len(values) == 2 and key == "device"):
            if kind is not None:
                raise ValueError(f"Multiple device types are not allowed while parsing the device spec: {spec}.")
            kind = values[0] if len(values) == 2 else key.upper()
            index = int(values[-1]) if values and values[-1] != "*" else None
        elif key != "":
            raise ValueError(f"Unknown attribute '{key}' is encountered while parsing the device spec: '{spec}'.")
    return job, replica, task, kind, index


class DeviceSpec:
    """The parts of a device name; None leaves a part open.

    Args:
        job, replica, task: Which process.
        device_type: Such as "CPU".
        device_index: Which device of that type; None is any.
    """

    def __init__(
        self,
        job: Any = None,
        replica: Any = None,
        task: Any = None,
        device_type: Any = None,
        device_index: Any = None,
    ) -> None:
        self.job = _text(job)
        self.replica, self.task = _number(replica), _number(task)
        self.device_type = device_type.upper() if device_type in ("cpu", "gpu") else _text(device_type)
        self.device_index = _number(device_index)

    @classmethod
    def from_string(cls, spec: Any) -> DeviceSpec:
        """Parse a device name; ValueError if it is not one."""
        return cls(*_parse(spec))

    def parse_from_string(self, spec: Any) -> DeviceSpec:
        """Replace the parts by those of a name, and return this object."""
        DeviceSpec.__init__(self, *_parse(spec))
        return self

    def _parts(self) -> tuple[Any, ...]:
        return self.job, self.replica, self.task, self.device_type, self.device_index

    def merge_from(self, dev: DeviceSpec) -> None:
        """Replace the parts that `dev` does not leave open."""
        DeviceSpec.__init__(self, *self.make_merged_spec(dev)._parts())

    def make_merged_spec(self, dev: DeviceSpec) -> DeviceSpec:
        """Return the parts of `dev`, and this spec's where `dev` leaves one open."""
        pairs = zip(dev._parts(), self._parts(), strict=True)
        return type(self)(*(mine if first is None else first for first, mine in pairs))

    def replace(self, **kwargs: Any) -> DeviceSpec:
        """Return a copy with the given parts replaced."""
        names = ("job", "replica", "task", "device_type", "device_index")
        return type(self)(**{**dict(zip(names, self._parts(), strict=True)), **kwargs})

    def to_string(self) -> str:
        """Return the name, such as "/device:CPU:0"."""
        names = ("job", "replica", "task")
        said = [f"/{name}:{part}" for name, part in zip(names, self._parts(), strict=False) if part is not None]
        if self.device_type is not None:
            said.append(f"/device:{self.device_type}:{'*' if self.device_index is None else self.device_index}")
        return "".join(said)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, DeviceSpec) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(self.to_string())

    def __repr__(self) -> str:
        return (
            f"<DeviceSpec(job={self.job}, replica={self.replica}, task={self.task}, device_type={self.device_type}, "
            f"device_index={self.device_index})>"
        )


def device_function(asked: Any) -> Callable[[Operation], str] | None:
    """Return the function by which a `device` context names an operation's device.

    The operation already has the device that the inner contexts gave it.
    """
    if asked is None:
        return None
    if callable(asked):

        def function(op: Operation) -> str:
            name = asked(op)
            if isinstance(name, DeviceSpec):
                return name.to_string()
            if not isinstance(name, (str, bytes)):
                raise TypeError(f"Expected binary or unicode string, got {name!r}")
            return name if isinstance(name, str) else name.decode()

        return function
    spec = DeviceSpec(*asked._parts()) if isinstance(asked, DeviceSpec) else DeviceSpec.from_string(asked)
    merged: dict[str, str] = {"": spec.to_string()}

    def name(op: Operation) -> str:
        inner = op._device
        if inner not in merged:
            merged[inner] = spec.make_merged_spec(DeviceSpec.from_string(inner)).to_string()
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
    """Return None, which `tf.device` ignores: without parameter servers there is nothing to place.

    Args:
        ps_tasks: How many parameter servers there are: 0.
        ps_device, worker_device, merge_devices, ps_ops, ps_strategy: Taken for compatibility.
        cluster: None or empty, as a program here is one process.

    Raises:
        ValueError: There are parameter servers.
    """
    if ps_tasks or cluster:
        got = f"ps_tasks={ps_tasks}" if ps_tasks else f"cluster={cluster!r:.80}"
        raise ValueError(
            f"replica_device_setter places variables on parameter servers, but everything here runs in one process: "
            f"got {got}, expected ps_tasks=0 and no cluster"
        )
