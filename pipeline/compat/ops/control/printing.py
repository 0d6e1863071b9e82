"""Print: shows tensor values when an op runs."""

from __future__ import annotations

import sys
from typing import Any

from pipeline.compat.graph.node import tensor_node
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.kernels.formatting import summarize as summarized
from pipeline.compat.values.convert import convert_to_tensor


def Print(
    input_: Any,
    data: Any,
    message: str | None = None,
    first_n: int | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Return `input_`, and print `data` to stderr whenever it is computed.

    Args:
        input_: Any tensor.
        data: A list of tensors to print.
        message: Start of the line.
        first_n: Print only the first n times; always by default.
        summarize: Number of elements to print per tensor; 3 by default, all if negative.
        name: Name of the op.
    """
    entries, times = 3 if summarize is None else summarize, -1 if first_n is None else first_n
    key = object()

    def kernel(run: Any, value: Any, *shown: Any) -> Any:
        count = run.state(key, lambda: [0])
        if times < 0 or count[0] < times:
            count[0] += 1
            line = (message or "") + "".join(f"[{summarized(each, entries)}]" for each in shown)
            sys.stderr.write(line + "\n")
        return value

    with name_scope(name, "Print", [input_]) as scope:
        tensor = convert_to_tensor(input_, name="input")
        shown = [convert_to_tensor(each, name=f"data_{i}") for i, each in enumerate(data)]
        dtype = tensor.dtype.base_dtype
        attrs = {"T": dtype, "message": message or "", "first_n": times, "summarize": entries}
        return tensor_node(
            "Print", [tensor, *shown], kernel, dtype, tensor.shape, name=scope, attrs=attrs, stateful=True
        )
