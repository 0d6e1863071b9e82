"""Versions, and the switches between TensorFlow 1 and 2: this is TensorFlow 1, and stays so."""

from __future__ import annotations

from typing import Any, NoReturn

VERSION = "1.15.0"
GIT_VERSION = "v1.15.0"
COMPILER_VERSION = ""
GRAPH_DEF_VERSION = 134
GRAPH_DEF_VERSION_MIN_CONSUMER = GRAPH_DEF_VERSION_MIN_PRODUCER = 0


def executing_eagerly() -> bool:
    """Whether operations run as they are made: never."""
    return False


executing_eagerly_outside_functions = executing_eagerly


def enable_eager_execution(config: Any = None, device_policy: Any = None, execution_mode: Any = None) -> NoReturn:
    """Refuse.

    Raises:
        RuntimeError: There are only graphs and sessions.
    """
    raise RuntimeError(
        "pipeline.compat.v1 runs graphs in sessions, as TensorFlow 1 does by default: there is no eager execution. "
        "docs/migrate.md shows how the same pipeline is written without graphs."
    )


enable_v2_behavior = enable_eager_execution


def disable_v2_behavior() -> None:
    """Nothing to do: this is TensorFlow 1."""


disable_eager_execution = disable_v2_behavior
disable_v2_tensorshape = disable_v2_behavior
disable_control_flow_v2 = disable_v2_behavior
disable_resource_variables = disable_v2_behavior
disable_tensor_equality = disable_v2_behavior
enable_control_flow_v2 = disable_v2_behavior
enable_resource_variables = disable_v2_behavior


def resource_variables_enabled() -> bool:
    """Whether variables are resources: no."""
    return False


control_flow_v2_enabled = resource_variables_enabled
