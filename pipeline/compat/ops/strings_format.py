"""strings.format: tensors written into a text."""

from __future__ import annotations

from typing import Any

from pipeline.compat.core.convert import convert_to_tensor
from pipeline.compat.core.dtypes import string
from pipeline.compat.core.graph import name_scope
from pipeline.compat.core.node import tensor_node
from pipeline.compat.core.shapes import scalar
from pipeline.compat.core.tensor import Tensor
from pipeline.compat.ops.text import encoded


def format(template: str, inputs: Any, placeholder: str = "{}", summarize: int = 3, name: str | None = None) -> Tensor:
    """The template with each placeholder replaced by a tensor's values.

    Args:
        template: The text.
        inputs: A tensor, or a list with as many as there are placeholders.
        placeholder: What is replaced.
        summarize: How many values to write at either end of a dimension; -1 for all.
        name: The op's name.

    Raises:
        ValueError: There is another number of placeholders.
    """
    if isinstance(inputs, Tensor) or hasattr(inputs, "dtype"):
        inputs = [inputs]
    if template.count(placeholder) != len(inputs):
        raise ValueError(
            f"The template expects {template.count(placeholder)} tensors, but the inputs only has {len(inputs)}. "
            "Please ensure the number of placeholders in template matches inputs length."
        )
    ends = int(summarize)
    with name_scope(name, "StringFormat") as scope:
        tensors = [convert_to_tensor(one, name=f"inputs_{i}") for i, one in enumerate(inputs)]

        def kernel(*values: Any) -> bytes:
            from pipeline.compat.ops.summarizing import pretty

            parts = template.split(placeholder)
            filled = parts[0]
            for value, part in zip(values, parts[1:], strict=True):
                shown = f'"{value.decode(errors="replace")}"' if isinstance(value, bytes) else pretty(value, ends)
                filled += shown + part
            return filled.encode()

        attrs: dict[str, Any] = {"T": [one.dtype.base_dtype for one in tensors], "template": encoded(template)}
        attrs |= {"placeholder": encoded(placeholder), "summarize": ends}
        return tensor_node("StringFormat", tensors, kernel, string, scalar(), name=scope, attrs=attrs)
