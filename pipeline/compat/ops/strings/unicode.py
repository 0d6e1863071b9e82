"""unicode_decode and its kin: strings as code points and as characters, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.compat.graph.dtypes import int32, int64, string
from pipeline.compat.graph.node import node, tensor_node
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.kernels import unicode
from pipeline.compat.kernels.unicode import ERRORS, OUTPUT_ENCODINGS, Errors
from pipeline.compat.kernels.unicode_scripts import scripts
from pipeline.compat.ops.arrays.shaping import expand_dims, reshape
from pipeline.compat.ops.arrays.shaping import shape as shape_of
from pipeline.compat.ops.arrays.stacking import stack
from pipeline.compat.ops.making.inputs import fixed_input
from pipeline.compat.ops.making.text import objects, one_of, plain, scalar_or, text
from pipeline.compat.values.ragged_tensor import RaggedTensor, as_ragged_or_tensor

_REPLACEMENT = 0xFFFD


def unicode_decode(
    input: Any,
    input_encoding: Any,
    errors: str = "replace",
    replacement_char: int = _REPLACEMENT,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Any:
    """Return the code points of each string.

    Args:
        input: Strings, a tensor of known rank or a RaggedTensor.
        input_encoding: The encoding as ICU names it: UTF-8, UTF-16-BE, ISO-8859-1, windows-1252, GBK, ... Of GBK,
            GB18030, EUC-KR and windows-949 malformed strings may give other characters than in TensorFlow.
        errors: What malformed bytes become: "replace", `replacement_char`; "ignore", nothing; "strict", an error.
        replacement_char: The code point for malformed bytes.
        replace_control_characters: Whether the control characters below U+0020 count as malformed for "replace" and
            "ignore"; for "strict" they are replaced.
        name: Name of the scope.

    Returns:
        int32: a vector if `input` is a scalar, else a RaggedTensor with one dimension more than `input`.

    Raises:
        ValueError: The rank is unknown, or `errors` is none of the three.
        InvalidArgumentError: At run time: the encoding is unknown, a string malformed, or `replacement_char` no code
            point.
    """
    with name_scope(name, "UnicodeDecode"):
        how = _errors("UnicodeDecode", errors, replacement_char, replace_control_characters)
        return _decoded("UnicodeDecode", input, input_encoding, how)[0]


def unicode_decode_with_offsets(
    input: Any,
    input_encoding: Any,
    errors: str = "replace",
    replacement_char: int = _REPLACEMENT,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Return the code points of each string, and at which byte each begins (int64); else as `unicode_decode`."""
    with name_scope(name, "UnicodeDecodeWithOffsets"):
        how = _errors("UnicodeDecodeWithOffsets", errors, replacement_char, replace_control_characters)
        codes, offsets = _decoded("UnicodeDecodeWithOffsets", input, input_encoding, how)
        return codes, offsets


def unicode_split(
    input: Any,
    input_encoding: Any,
    errors: str = "replace",
    replacement_char: int = _REPLACEMENT,
    name: str | None = None,
) -> Any:
    """Return the characters of each string, as strings.

    Args:
        input: Strings, a tensor of known rank or a RaggedTensor.
        input_encoding: "UTF-8", "UTF-16-BE" or "UTF-32-BE".
        errors, replacement_char, name: As for `unicode_decode`.

    Returns:
        A vector if `input` is a scalar, else a RaggedTensor with one dimension more than `input`.

    Raises:
        ValueError, InvalidArgumentError: As `unicode_decode`; ValueError also for other encodings.
    """
    with name_scope(name, "UnicodeSplit"):
        how = _errors("UnicodeDecode", errors, replacement_char)
        codes, _ = _decoded("UnicodeDecode", input, input_encoding, how)
        return _characters(codes, input_encoding, errors, replacement_char)


def unicode_split_with_offsets(
    input: Any,
    input_encoding: Any,
    errors: str = "replace",
    replacement_char: int = _REPLACEMENT,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Return the characters of each string, and at which byte each begins (int64); else as `unicode_split`."""
    with name_scope(name, "UnicodeSplitWithOffsets"):
        how = _errors("UnicodeDecodeWithOffsets", errors, replacement_char)
        codes, offsets = _decoded("UnicodeDecodeWithOffsets", input, input_encoding, how)
        return _characters(codes, input_encoding, errors, replacement_char), offsets


def unicode_encode(
    input: Any,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = _REPLACEMENT,
    name: str | None = None,
) -> Any:
    """Return the string of each sequence of code points.

    Args:
        input: int32, a tensor of known rank or a RaggedTensor; the sequences are its innermost dimension.
        output_encoding: "UTF-8", "UTF-16-BE" or "UTF-32-BE".
        errors: What numbers that are no characters become: "replace", `replacement_char`; "ignore", nothing; "strict",
            an error.
        replacement_char: The code point for these numbers.
        name: Name of the scope.

    Returns:
        Strings, with one dimension less than `input`.

    Raises:
        ValueError: The rank is unknown or 0; the encoding or `errors` is another.
        InvalidArgumentError: At run time: a number is no character, or `replacement_char` no code point.
    """
    with name_scope(name, "UnicodeEncode"):
        codes = as_ragged_or_tensor(input)
        rank = codes.shape.ndims
        if rank is None:
            raise ValueError("Rank of input_tensor must be statically known.")
        if rank == 0:
            raise ValueError("input_tensor's rank must be at least 1.")
        if isinstance(codes, RaggedTensor):
            flat = codes.flat_values.shape.ndims or 0
            if flat > 1 or codes.ragged_rank > 1:
                inner = unicode_encode(codes.values, output_encoding, errors, replacement_char)
                return codes.with_values(inner)
            return _encoded(codes.values, codes.row_splits, output_encoding, errors, replacement_char)
        if rank == 2:
            return unicode_encode(RaggedTensor.from_tensor(codes), output_encoding, errors, replacement_char)
        sizes: Any = shape_of(codes)
        if rank == 1:
            row = RaggedTensor.from_row_lengths(codes, sizes)
            return reshape(unicode_encode(row, output_encoding, errors, replacement_char), [])
        rows = unicode_encode(reshape(codes, stack([-1, sizes[-1]])), output_encoding, errors, replacement_char)
        return reshape(rows, sizes[:-1])


def unicode_transcode(
    input: Any,
    input_encoding: Any,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = _REPLACEMENT,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return each string in another encoding.

    Args:
        input: Strings of any shape.
        input_encoding: As for `unicode_decode`.
        output_encoding: "UTF-8", "UTF-16-BE" or "UTF-32-BE".
        errors, replacement_char, replace_control_characters: As for `unicode_decode`.
        name: Name of the op.

    Raises:
        ValueError, InvalidArgumentError: As `unicode_decode`; ValueError also for other output encodings.
    """
    source = plain(input_encoding, "input_encoding")
    target = one_of(output_encoding, OUTPUT_ENCODINGS, "output_encoding", "UnicodeTranscode")
    how = _errors("UnicodeTranscode", errors, replacement_char, replace_control_characters)
    with name_scope(name, "UnicodeTranscode") as scope:
        tensor = text(input, "input", "UnicodeTranscode")

        def kernel(values: Any) -> Any:
            array = values if isinstance(values, np.ndarray) else objects([values]).reshape(())
            made = unicode.transcode(array.ravel().tolist(), source, target, how)
            return scalar_or(objects(made).reshape(array.shape))

        attrs = {"input_encoding": source.encode(), "output_encoding": target.encode(), **_attrs(how)}
        return tensor_node(
            "UnicodeTranscode", [tensor], kernel, string, tensor.shape, name=scope, attrs=attrs, rows=True
        )


def unicode_script(input: Any, name: str | None = None) -> Tensor:
    """Return ICU's number of the script of each code point (int32), such as 25 for Latin; -1 for no code point."""
    with name_scope(name, "UnicodeScript") as scope:
        codes = fixed_input("UnicodeScript", "input", input, int32)
        return tensor_node("UnicodeScript", [codes], scripts, int32, codes.shape, name=scope, rows=True)


def _errors(op_type: str, errors: Any, replacement: Any, control: Any = False) -> Errors:
    how = one_of(errors, ERRORS, "errors", op_type)
    if isinstance(replacement, bool) or not isinstance(replacement, (int, np.integer)):
        raise TypeError(f"Expected int for argument 'replacement_char' not {replacement!r}.")
    return Errors(how, int(replacement), bool(control))


def _attrs(how: Errors) -> dict[str, Any]:
    return {
        "errors": how.how.encode(),
        "replacement_char": how.replacement,
        "replace_control_characters": how.control,
    }


def _decoded(op_type: str, input: Any, input_encoding: Any, how: Errors) -> tuple[Any, Any]:
    """Make the op that decodes; return the code points and the offsets, ragged unless `input` is a scalar."""
    given = as_ragged_or_tensor(input, name="input")
    rank = given.shape.ndims
    if rank is None:
        raise ValueError("Rank of `input` must be statically known.")
    encoding = plain(input_encoding, "input_encoding")
    if isinstance(given, Tensor) and rank > 1:
        given = RaggedTensor.from_tensor(given, ragged_rank=rank - 1)
    elif rank > 1 and given.ragged_rank < rank - 1:
        inner = rank - given.ragged_rank - 1
        given = given.with_flat_values(RaggedTensor.from_tensor(given.flat_values, ragged_rank=inner))
    flat = text(given if isinstance(given, Tensor) else given.flat_values, "input", op_type)
    flat = reshape(flat, [-1])
    with_offsets = op_type == "UnicodeDecodeWithOffsets"

    def kernel(values: Any) -> Any:
        return unicode.decode(values.tolist(), encoding, how)[: 2 + with_offsets]

    count = flat.shape[0].value
    outputs: list[tuple[Any, Any]] = [(int64, [None if count is None else count + 1]), (int32, [None])]
    outputs += [(int64, [None])] * with_offsets
    attrs = {"input_encoding": encoding.encode(), "Tsplits": int64, **_attrs(how)}
    splits, *found = node(op_type, [flat], outputs, kernel, op_type, attrs).outputs
    if rank:
        found = [RaggedTensor._of(each, splits) for each in found]
    if rank > 1:
        found = [given.with_flat_values(each) for each in found]
    return found[0], found[-1]


def _characters(codes: Any, encoding: Any, errors: str, replacement: int) -> Any:
    """Encode each code point by itself."""
    if isinstance(codes, RaggedTensor):
        return codes.with_flat_values(_characters(codes.flat_values, encoding, errors, replacement))
    return unicode_encode(expand_dims(codes, -1), encoding, errors, replacement)


def _encoded(codes: Tensor, splits: Tensor, output_encoding: Any, errors: Any, replacement: Any) -> Tensor:
    op_type = "UnicodeEncode"
    target = one_of(output_encoding, OUTPUT_ENCODINGS, "output_encoding", op_type)
    how = _errors(op_type, errors, replacement)
    codes = fixed_input(op_type, "input_values", codes, int32)
    count = splits.shape[0].value

    def kernel(codes: Any, splits: Any) -> Any:
        return objects(unicode.encode(splits, codes, target, how))

    attrs = {"output_encoding": target.encode(), "Tsplits": splits.dtype.base_dtype, **_attrs(how)}
    del attrs["replace_control_characters"]
    shape = [None if count is None else count - 1]
    return tensor_node(op_type, [codes, splits], kernel, string, shape, name=op_type, attrs=attrs)
