"""sqrt, exp, sin, round and other elementwise functions with one tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.kernels.wrappers import in_single
from pipeline.compat.ops.making.elementwise import unary
from pipeline.compat.ops.making.inputs import FLOATS, FLOATS_COMPLEX
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.errors import invalid

_SIGNED = (*FLOATS, "int8", "int16", "int32", "int64")
_SIGNED_COMPLEX = (*_SIGNED, "complex64", "complex128")
_SQUARE = (*_SIGNED, "uint8", "uint16", "uint32", "uint64", "complex64", "complex128")


def _no_integers(x: Any) -> Any:
    raise invalid(f"Reciprocal has no kernel for {np.asarray(x).dtype}")


@in_single
def _rsqrt(x: Any) -> Any:
    return np.reciprocal(np.sqrt(x))


@in_single
def _sigmoid(x: Any) -> Any:
    return np.reciprocal(np.exp(np.negative(x)) + x.dtype.type(1))


def _sign(x: Any) -> Any:
    # The sign of -0. is 0.
    return np.sign(x) + x.dtype.type(0)


negative = unary("Neg", np.negative, _SIGNED_COMPLEX, "Return -x.")
square = unary("Square", np.square, _SQUARE, "Return x * x.")
sqrt = unary("Sqrt", np.sqrt, FLOATS_COMPLEX, "Return the square root of x.")
rsqrt = unary("Rsqrt", _rsqrt, FLOATS_COMPLEX, "Return 1 over the square root of x.")
reciprocal = unary("Reciprocal", np.reciprocal, _SIGNED_COMPLEX, "Return 1 / x.", integers=_no_integers)
exp = unary("Exp", np.exp, FLOATS_COMPLEX, "Return e to the power of x.")
expm1 = unary("Expm1", np.expm1, FLOATS_COMPLEX, "Return exp(x) - 1.")
log = unary("Log", np.log, FLOATS_COMPLEX, "Return the natural logarithm of x.")
log1p = unary("Log1p", np.log1p, FLOATS_COMPLEX, "Return the natural logarithm of 1 + x.")
floor = unary("Floor", np.floor, FLOATS, "Return the largest integers not above x, as floats.")
ceil = unary("Ceil", np.ceil, FLOATS, "Return the smallest integers not below x, as floats.")
rint = unary("Rint", np.rint, FLOATS, "Return the nearest integers, halves to even, as floats.")
sin = unary("Sin", np.sin, FLOATS_COMPLEX, "Return the sine of x.")
cos = unary("Cos", np.cos, FLOATS_COMPLEX, "Return the cosine of x.")
tan = unary("Tan", np.tan, FLOATS_COMPLEX, "Return the tangent of x.")
asin = unary("Asin", np.arcsin, FLOATS_COMPLEX, "Return the inverse sine of x.")
acos = unary("Acos", np.arccos, FLOATS_COMPLEX, "Return the inverse cosine of x.")
atan = unary("Atan", np.arctan, FLOATS_COMPLEX, "Return the inverse tangent of x.")
sinh = unary("Sinh", np.sinh, FLOATS_COMPLEX, "Return the hyperbolic sine of x.")
cosh = unary("Cosh", np.cosh, FLOATS_COMPLEX, "Return the hyperbolic cosine of x.")
tanh = unary("Tanh", np.tanh, FLOATS_COMPLEX, "Return the hyperbolic tangent of x.")
asinh = unary("Asinh", np.arcsinh, FLOATS_COMPLEX, "Return the inverse hyperbolic sine of x.")
acosh = unary("Acosh", np.arccosh, FLOATS_COMPLEX, "Return the inverse hyperbolic cosine of x.")
atanh = unary("Atanh", np.arctanh, FLOATS_COMPLEX, "Return the inverse hyperbolic tangent of x.")
sigmoid = unary("Sigmoid", _sigmoid, FLOATS_COMPLEX, "Return 1 / (1 + exp(-x)).")
abs = unary("Abs", np.abs, _SIGNED, "Return the absolute value of x.")
_round = unary("Round", np.rint, _SIGNED_COMPLEX, "Return x rounded, halves to even.", integers=np.positive)
_sign_of = unary("Sign", _sign, _SIGNED, "Return -1, 0 or 1.")


def sign(x: Any, name: str | None = None) -> Tensor:
    """Return -1, 0 or 1."""
    return _sign_of(convert_to_tensor(x), name=name)


def round(x: Any, name: str | None = None) -> Tensor:
    """Return x rounded, halves to even. Integers are returned as is."""
    x = convert_to_tensor(x, name="x")
    return x if x.dtype.is_integer else _round(x, name=name)
