"""The version, and the switches between TensorFlow 1 and 2: the drop-in is TensorFlow 1 and stays so."""

from __future__ import annotations

from pipeline.compat import VERSION as VERSION


def executing_eagerly() -> bool:
    """Return False, because operations run in sessions only."""
    return False


def disable_v2_behavior() -> None:
    """Do nothing, because this is TensorFlow 1."""


disable_eager_execution = disable_v2_behavior
disable_v2_tensorshape = disable_v2_behavior
disable_control_flow_v2 = disable_v2_behavior
disable_resource_variables = disable_v2_behavior
disable_tensor_equality = disable_v2_behavior
