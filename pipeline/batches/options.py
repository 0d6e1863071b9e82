"""The options that every batch function takes by name: BatchOptions, and how functions show and check them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypedDict, TypeVar, get_type_hints

from pipeline.batches.request import Request
from pipeline.keywords import refusing_others
from pipeline.runners.coordinator import Coordinator

P = ParamSpec("P")
R = TypeVar("R")


class BatchOptions(TypedDict, total=False):
    """Options of all batch functions; `batch` says what each of them does, `Request` has their defaults."""

    keep_input: Any
    on_error: str
    max_errors: int | None
    coord: Coordinator | None
    deterministic: bool | None
    shard: tuple[int, int] | None
    fingerprint: str
    function: Callable[[Any], Any] | None
    workers: Any  # an Executor, whose import takes a millisecond
    ragged: str | Mapping[Any, str] | None
    encoding: str | None


def takes_options(function: Callable[P, R]) -> Callable[P, R]:
    """Give a function with `**options: Unpack[BatchOptions]` a signature that lists them, and refuse all others."""
    own = [each for each in inspect.signature(function).parameters.values() if each.kind is not each.VAR_KEYWORD]
    return _refusing_others(function, own + [_option(*each) for each in get_type_hints(BatchOptions).items()])


def _refusing_others(function: Callable[P, R], parameters: list[inspect.Parameter]) -> Callable[P, R]:
    """Wrap a function so that its signature lists these parameters, and any other keyword is a TypeError."""
    checked = refusing_others(function, [each.name for each in parameters])
    _show(checked, parameters, function.__annotations__["return"])
    return checked


def _option(name: str, hint: Any) -> inspect.Parameter:
    default = Request._field_defaults[name]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def _show(function: Any, parameters: list[inspect.Parameter], returned: Any) -> None:
    function.__signature__ = inspect.Signature(parameters, return_annotation=returned)
    function.__annotations__ = {each.name: each.annotation for each in parameters} | {"return": returned}
