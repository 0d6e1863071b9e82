"""Print, print and strings.format: show the values of tensors when an op runs."""

from __future__ import annotations

import sys
from typing import Any

from pipeline.compat.graph.dtypes import string
from pipeline.compat.graph.node import node, tensor_node
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.shapes import scalar
from pipeline.compat.graph.tensor import Operation, Tensor
from pipeline.compat.kernels.formatting import pretty
from pipeline.compat.kernels.formatting import summarize as summarized
from pipeline.compat.ops.making.inputs import fixed_input
from pipeline.compat.ops.making.text import encoded
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.sparse_tensor import SparseTensor


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
        message: How the line begins.
        first_n: Print only the first n times; always by default.
        summarize: How many elements of each tensor to print; 3 by default, all if negative.
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


def _stream(output_stream: Any) -> str:
    if isinstance(output_stream, str) and output_stream.startswith("file://"):
        return output_stream
    known = {id(sys.stdout): "stdout", id(sys.stderr): "stderr"}
    known.update({id(sys.__stdout__): "stdout", id(sys.__stderr__): "stderr"})
    found = known.get(id(output_stream))
    if found is None:
        found = {"info": "log(info)", "warning": "log(warning)", "warn": "log(warning)", "error": "log(error)"}.get(
            getattr(output_stream, "__name__", "")
        )
    if found is None:
        found = {20: "log(info)", 30: "log(warning)", 40: "log(error)"}.get(output_stream)
    if found is None:
        raise ValueError(
            f"Unsupported output stream, logging level, or file.{output_stream}. Supported streams are sys.stdout, "
            "sys.stderr, tf.logging.info, tf.logging.warning, tf.logging.error. File needs to be in the form of "
            "'file://<filepath>'."
        )
    return found


def _write(stream: str, text: str) -> None:
    if stream.startswith("file://"):
        with open(stream[len("file://") :], "a", encoding="utf-8") as file:
            file.write(text)
    else:
        (sys.stdout if stream == "stdout" else sys.stderr).write(text)


def _placeholder(text: str) -> str:
    """Return a placeholder for tensors that does not occur in the text: braces, and zeros if need be."""
    holder = "{}"
    while holder in text:
        holder += "0"
    return holder


def _template(inputs: tuple[Any, ...], sep: str) -> tuple[str, str, list[Tensor]]:
    """Return the text with placeholders for tensors, the placeholder, and the tensors."""
    import pprint

    tensors: list[Tensor] = []

    def replaced(item: Any, holder: str) -> Any:
        if isinstance(item, SparseTensor):
            tensors.extend([item.indices, item.values, item.dense_shape])
            return f"SparseTensor(indices={holder}, values={holder}, shape={holder})"
        if isinstance(item, Tensor):
            tensors.append(item)
            return holder
        if isinstance(item, dict):
            return type(item)((key, replaced(item[key], holder)) for key in sorted(item))
        if isinstance(item, tuple) and hasattr(item, "_fields"):
            return type(item)(*(replaced(each, holder) for each in item))
        if isinstance(item, (list, tuple)):
            return type(item)(replaced(each, holder) for each in item)
        if hasattr(item, "_as_graph_element"):
            return replaced(convert_to_tensor(item), holder)
        return item

    holder = _placeholder(" ".join(pprint.pformat(replaced(item, "")) for item in inputs))
    tensors.clear()
    texts = [item if isinstance(item, str) else pprint.pformat(replaced(item, holder)) for item in inputs]
    return sep.join(texts).replace(f"'{holder}'", holder), holder, tensors


def print(*inputs: Any, **kwargs: Any) -> Operation:
    """Return an op that prints values when it runs.

    Args:
        inputs: Tensors, Python values and nested structures of them.
        kwargs: `output_stream` (sys.stderr, sys.stdout, a tf.logging function, "file://..."), `summarize` (how many
            elements to print at each end of an axis; all if negative), `sep`, `end`, `name`.

    Raises:
        ValueError: A keyword or the stream is unknown.
    """
    stream = kwargs.pop("output_stream", sys.stderr)
    name = kwargs.pop("name", None)
    ends = kwargs.pop("summarize", 3)
    sep, end = kwargs.pop("sep", " "), kwargs.pop("end", "\n")
    if kwargs:
        raise ValueError(f"Unrecognized keyword arguments for tf.print: {kwargs}")

    target = _stream(stream)
    only = inputs[0] if len(inputs) == 1 else None
    if isinstance(only, Tensor) and only.shape.ndims == 0 and only.dtype.base_dtype is string:
        text = only
    else:
        template, holder, tensors = _template(inputs, sep)
        text = format(template, tensors, holder, ends, f"{name}_format" if name else None)

    def kernel(run: Any, value: Any) -> None:
        _write(target, value.decode("utf-8", "replace") + end)

    with name_scope(name, "PrintV2", [inputs]) as scope:
        text = fixed_input("PrintV2", "input", text, string)
        attrs = {"output_stream": target, "end": end}
        return node("PrintV2", [text], [], kernel, name=scope, attrs=attrs, stateful=True)


def format(template: str, inputs: Any, placeholder: str = "{}", summarize: int = 3, name: str | None = None) -> Tensor:
    """Return the template with each placeholder replaced by a tensor's values: a string scalar.

    Args:
        template: The text.
        inputs: A tensor, or a list of as many tensors as there are placeholders.
        placeholder: What to replace.
        summarize: How many values to show at each end of an axis; -1 for all.
        name: Name of the op.

    Raises:
        ValueError: The numbers of placeholders and of tensors differ.
    """
    if isinstance(inputs, Tensor) or hasattr(inputs, "dtype"):
        inputs = [inputs]
    if template.count(placeholder) != len(inputs):
        raise ValueError(
            f"The template expects {template.count(placeholder)} tensors, but the inputs only has {len(inputs)}. "
            "Please ensure the number of placeholders in template matches inputs length."
        )
    ends = int(summarize)
    with name_scope(name, "StringFormat", [inputs]) as scope:
        tensors = [convert_to_tensor(one, name=f"inputs_{i}") for i, one in enumerate(inputs)]

        def kernel(*values: Any) -> bytes:
            parts = template.split(placeholder)
            filled = parts[0]
            for value, part in zip(values, parts[1:], strict=True):
                shown = f'"{value.decode(errors="replace")}"' if isinstance(value, bytes) else pretty(value, ends)
                filled += shown + part
            return filled.encode()

        attrs: dict[str, Any] = {"T": [one.dtype.base_dtype for one in tensors], "template": encoded(template)}
        attrs |= {"placeholder": encoded(placeholder), "summarize": ends}
        return tensor_node("StringFormat", tensors, kernel, string, scalar(), name=scope, attrs=attrs)
