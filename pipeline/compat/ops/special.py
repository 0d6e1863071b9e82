"""Special functions: of the error function's and the gamma function's families."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.kernels.wrappers import Kernel
from pipeline.compat.ops.making.elementwise import binary, unary
from pipeline.compat.ops.making.inputs import FLOATS
from pipeline.compat.values.convert import convert_to_tensor


def _each(function: Any) -> Kernel:
    """Return the kernel that applies a function of floats to each element."""

    def kernel(*values: Any) -> Any:
        dtype = np.asarray(values[0]).dtype
        arrays = np.broadcast_arrays(*(np.asarray(value, np.float64) for value in values))
        lists = (array.ravel().tolist() for array in arrays)
        flat = [function(*each) for each in zip(*lists, strict=True)]
        result = np.array(flat, np.float64).reshape(arrays[0].shape).astype(dtype)
        return result if result.ndim else result[()]

    return kernel


def _lgamma(x: float) -> float:
    if math.isinf(x) or (x <= 0 and x == math.floor(x)):
        return math.inf
    try:
        return math.lgamma(x)
    except OverflowError:
        return math.inf


def _digamma(x: float) -> float:
    if math.isnan(x) or (x <= 0 and x == math.floor(x)):
        return math.nan
    if x < 0:
        return _digamma(1 - x) - math.pi / math.tan(math.pi * x)
    total = 0.0
    while x < 10:
        total -= 1 / x
        x += 1
    square = 1 / (x * x)
    series = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square * (1 / 240 - square / 132))))
    return total + math.log(x) - 0.5 / x - series


def _ndtri(p: float) -> float:
    """The quantile of the standard normal distribution, by Newton's method on the error function."""
    if not 0 <= p <= 1:
        return math.nan
    if p in (0, 1):
        return math.inf if p else -math.inf
    if p > 0.5:
        return -_ndtri(1 - p)
    tail = math.sqrt(-2 * math.log(p))
    x = -(
        tail
        - (2.515517 + tail * (0.802853 + tail * 0.010328))
        / (1 + tail * (1.432788 + tail * (0.189269 + tail * 0.001308)))
    )
    for _ in range(4):
        error = 0.5 * math.erfc(-x / math.sqrt(2)) - p
        step = error * math.sqrt(2 * math.pi) * math.exp(x * x / 2)
        x -= step / (1 + x * step / 2)
    return x


def _erfinv(x: float) -> float:
    if not -1 <= x <= 1:
        return math.nan
    if abs(x) < 1e-4:
        return x * math.sqrt(math.pi) / 2 * (1 + math.pi * x * x / 12)
    return _ndtri((x + 1) / 2) / math.sqrt(2)


def _igamma(a: float, x: float) -> float:
    """The regularised lower incomplete gamma function: a series, or a continued fraction for large x."""
    if math.isnan(a) or math.isnan(x) or x < 0 or a <= 0:
        return math.nan
    if x == 0:
        return 0.0
    if math.isinf(x):
        return 1.0
    front = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x < a + 1:
        term = total = 1 / a
        for n in range(1, 1000):
            term *= x / (a + n)
            total += term
            if term < total * 1e-16:
                break
        return front * total
    return 1 - front * _fraction(a, x)


def _fraction(a: float, x: float) -> float:
    b = x + 1 - a
    c, d = 1e300, 1 / b
    value = d
    for n in range(1, 1000):
        factor = -n * (n - a)
        b += 2
        d = 1 / (factor * d + b)
        c = b + factor / c
        value *= c * d
        if abs(c * d - 1) < 1e-16:
            break
    return value


def _igammac(a: float, x: float) -> float:
    if x >= a + 1 and a > 0 and not math.isinf(x):
        return math.exp(a * math.log(x) - x - math.lgamma(a)) * _fraction(a, x)
    return 1 - _igamma(a, x)


def _zeta(s: float, q: float) -> float:
    """Hurwitz's zeta function, by the formula of Euler and Maclaurin."""
    if s == 1:
        return math.inf
    if s < 1 or (q <= 0 and s != math.floor(s)):
        return math.nan
    if q <= 0 and q == math.floor(q):
        return math.inf
    total: float = sum(math.pow(q + n, -s) for n in range(12))
    x = q + 12
    total += math.pow(x, 1 - s) / (s - 1) + 0.5 * math.pow(x, -s)
    term = s * math.pow(x, -s - 1)
    for n, coefficient in enumerate((1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160)):
        total += coefficient * term
        term *= (s + 2 * n + 1) * (s + 2 * n + 2) / (x * x)
    return total


def _polygamma(n: float, x: float) -> float:
    if n == 0:
        return _digamma(x)
    if n < 0 or n != math.floor(n):
        return math.nan
    return math.pow(-1, n + 1) * math.gamma(n + 1) * _zeta(n + 1, x)


erf = unary("Erf", _each(math.erf), FLOATS, "Return the error function of x.")
erfc = unary("Erfc", _each(math.erfc), FLOATS, "Return 1 - erf(x).")
lgamma = unary("Lgamma", _each(_lgamma), FLOATS, "Return the logarithm of |gamma(x)|.")
digamma = unary("Digamma", _each(_digamma), FLOATS, "Return the derivative of lgamma at x.")
_igamma_of = binary("Igamma", _each(_igamma), FLOATS, "", names=("a", "x"))
_igammac_of = binary("Igammac", _each(_igammac), FLOATS, "", names=("a", "x"))
_zeta_of = binary("Zeta", _each(_zeta), ("float32", "float64"), "", names=("x", "q"))
_polygamma_of = binary("Polygamma", _each(_polygamma), ("float32", "float64"), "", names=("a", "x"))
_erfinv_of = unary("Erfinv", _each(_erfinv), FLOATS, "")
_ndtri_of = unary("Ndtri", _each(_ndtri), FLOATS, "")


def igamma(a: Any, x: Any, name: str | None = None) -> Tensor:
    """Return the lower incomplete gamma function."""
    return _igamma_of(a, x, name)


def igammac(a: Any, x: Any, name: str | None = None) -> Tensor:
    """Return the upper incomplete gamma function."""
    return _igammac_of(a, x, name)


def zeta(x: Any, q: Any, name: str | None = None) -> Tensor:
    """Return Hurwitz's zeta function."""
    return _zeta_of(x, q, name)


def polygamma(a: Any, x: Any, name: str | None = None) -> Tensor:
    """Return derivative number `a` of digamma at x."""
    return _polygamma_of(a, x, name)


def erfinv(x: Any, name: str | None = None) -> Tensor:
    """Return what gives x by the error function."""
    with name_scope(name, "erfinv"):
        return _erfinv_of(x)


def ndtri(x: Any, name: str | None = None) -> Tensor:
    """Return the quantiles of the standard normal distribution."""
    with name_scope(name, "ndtri"):
        return _ndtri_of(x)


def erfcinv(x: Any, name: str | None = None) -> Any:
    """Return what gives x by erfc."""
    with name_scope(name, "erfcinv"):
        x = convert_to_tensor(x, name="start")
        return -ndtri(0.5 * x) * np.sqrt(0.5)  # type: ignore[operator]
