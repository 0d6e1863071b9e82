"""decode_json_example: Examples written as JSON, as protocol buffers map messages to it."""

from __future__ import annotations

import base64
import json
from typing import Any

from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.making.text import string_op
from pipeline.errors import invalid
from pipeline.proto.example import BytesList, Example, Feature, Features, FloatList, Int64List

_NUMBERS = {"NaN": "nan", "Infinity": "inf", "-Infinity": "-inf"}


def decode_json_example(json_examples: Any, name: str | None = None) -> Tensor:
    """Convert Examples in JSON to serialized Examples, such as parse_example reads.

    Args:
        json_examples: Strings of any shape.
        name: Name of the op.

    Raises:
        InvalidArgumentError: At run time: a string is no JSON, or no Example.
    """
    return string_op("DecodeJSONExample", json_examples, _serialized, name, argument="json_examples")


def _serialized(data: bytes) -> bytes:
    try:
        example = _example(json.loads(data, parse_constant=_no_number))
        return example.SerializeToString()
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise invalid(f"Error while parsing JSON: expected a tf.train.Example, got {data[:80]!r}: {error}") from None


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} has to be a string")


def _example(value: Any) -> Example:
    features = _one(value, ("features", "features"))
    named = {} if features is None else _one(features, ("feature", "feature"))
    if named is not None and not isinstance(named, dict):
        raise ValueError(f"features.feature is an object with a feature for each name, not {named!r:.80}")
    made = {name: _feature(each) for name, each in (named or {}).items()}
    return Example() if features is None else Example(features=Features(feature=made))


def _one(value: Any, *names: tuple[str, str]) -> Any:
    """The value of the only field that an object has of these, each given by its two names; None if it has none."""
    known = {each for pair in names for each in pair}
    if not isinstance(value, dict):
        raise ValueError(f"expected an object, got {value!r:.80}")
    for key in value:
        if key not in known:
            raise ValueError(f"there is no field {key!r}; expected {', '.join(sorted(known))}")
    return next((each for each in value.values() if each is not None), None)


def _feature(value: Any) -> Feature:
    held = _one(value, ("bytesList", "bytes_list"), ("floatList", "float_list"), ("int64List", "int64_list"))
    if held is None:
        return Feature()
    if len(value) > 1:
        raise ValueError(f"a feature has one list, not {', '.join(value)}")
    values = _one(held, ("value", "value")) or []
    if not isinstance(values, list):
        raise ValueError(f"expected a list of values, got {values!r:.80}")
    kind = next(iter(value))[0]
    if kind == "b":
        return Feature(bytes_list=BytesList(value=[_bytes(each) for each in values]))
    if kind == "f":
        return Feature(float_list=FloatList(value=[_float(each) for each in values]))
    return Feature(int64_list=Int64List(value=[_int(each) for each in values]))


def _bytes(value: Any) -> bytes:
    if not isinstance(value, str):
        raise ValueError(f"bytes are a string in base64, not {value!r:.80}")
    plain = value.rstrip("=").replace("-", "+").replace("_", "/")
    return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)


def _float(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise ValueError(f"expected a number, got {value!r:.80}")
    return float(_NUMBERS.get(value, value) if isinstance(value, str) else value)


def _int(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise ValueError(f"expected an integer, got {value!r:.80}")
    if isinstance(value, float) and not value.is_integer():
        raise ValueError(f"expected an integer, got {value!r}")
    return int(value)
