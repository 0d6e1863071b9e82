"""tf.flags: functions that define command line flags, and validators for their values."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from typing import Any

from pipeline.compat.platform.flag_values import (
    FLAGS,
    Flag,
    FlagValues,
    UnrecognizedFlagError,
)


class FlagHolder:
    """What a definition returns: access to the flag without its name.

    Args:
        flag_values: The FlagValues that has the flag.
        flag: The flag.
    """

    def __init__(self, flag_values: FlagValues, flag: Flag) -> None:
        self._values, self._flag = flag_values, flag

    @property
    def name(self) -> str:
        """The flag's name."""
        return self._flag.name

    @property
    def value(self) -> Any:
        """The value; parses the command line if that was not done."""
        return getattr(self._values, self._flag.name)

    @property
    def default(self) -> Any:
        """The default."""
        return self._flag.default

    @property
    def present(self) -> bool:
        """Whether the command line sets it."""
        return bool(self._flag.present)


# Parsers: convert text or a default to a value


class _Parser:
    kind = "string"

    def __call__(self, given: Any) -> Any:
        raise NotImplementedError


class _String(_Parser):
    def __call__(self, given: Any) -> str:
        if not isinstance(given, str):
            raise TypeError(f"flag value must be a string, found {type(given)}")
        return given


class _Number(_Parser):
    def __init__(self, kind: str, low: Any, high: Any) -> None:
        self.kind, self._low, self._high = kind, low, high

    def __call__(self, given: Any) -> Any:
        value = self._convert(given)
        if (self._low is not None and value < self._low) or (self._high is not None and value > self._high):
            low = "-inf" if self._low is None else self._low
            high = "inf" if self._high is None else self._high
            raise ValueError(f"{value} is not a number in the range [{low}, {high}]")
        return value

    def _convert(self, given: Any) -> Any:
        if self.kind == "float":
            if isinstance(given, (int, float, str)):
                return float(given)
            raise TypeError(f"Expect argument to be a string, int, or float, found {type(given)}")
        if isinstance(given, str):
            text = given.strip().lower().lstrip("+-")
            return int(given, 16 if text.startswith("0x") else 8 if text.startswith("0o") else 10)
        if isinstance(given, int):
            return given
        raise TypeError(f"Expect argument to be a string or int, found {type(given)}")


class _Boolean(_Parser):
    kind = "bool"

    def __call__(self, given: Any) -> bool:
        if isinstance(given, str):
            if given.lower() in ("true", "t", "1"):
                return True
            if given.lower() in ("false", "f", "0"):
                return False
            raise ValueError(f"Non-boolean argument to boolean flag {given}")
        if isinstance(given, (bool, int)) and given in (0, 1):
            return bool(given)
        raise (ValueError if isinstance(given, int) else TypeError)(f"Non-boolean argument to boolean flag {given}")


class _Enum(_Parser):
    kind = "string enum"

    def __init__(self, values: Sequence[str], case_sensitive: bool = True) -> None:
        if not values:
            raise ValueError("enum_values cannot be empty")
        self._values, self._exact = list(values), case_sensitive

    def __call__(self, given: Any) -> Any:
        for each in self._values:
            if given == each or (not self._exact and given.lower() == each.lower()):
                return each
        raise ValueError(f"value should be one of <{'|'.join(self._values)}>")


class _EnumClass(_Parser):
    kind = "enum class"

    def __init__(self, enum_class: Any, case_sensitive: bool = False) -> None:
        self._class, self._exact = enum_class, case_sensitive

    def __call__(self, given: Any) -> Any:
        if isinstance(given, self._class):
            return given
        for name, member in self._class.__members__.items():
            if given == name or (not self._exact and given.lower() == name.lower()):
                return member
        raise ValueError(f"value should be one of <{'|'.join(self._class.__members__)}>")


class _List(_Parser):
    def __init__(self, separator: str | None) -> None:
        self._separator = separator
        self.kind = "comma separated list of strings" if separator else "whitespace separated list of strings"

    def __call__(self, given: Any) -> list[str]:
        if isinstance(given, (list, tuple)):
            return list(given)
        if not given:
            return []
        if self._separator is None:
            return str(given).split()
        rows = list(csv.reader([str(given)], strict=True))
        return [each.strip() for each in rows[0]]


# Definitions

_OLD_NAMES = {"flag_name": "name", "default_value": "default", "docstring": "help"}


def _definer(make: Callable[..., dict[str, Any]], doc: str) -> Callable[..., FlagHolder]:
    def define(*args: Any, **options: Any) -> FlagHolder:
        for old, new in _OLD_NAMES.items():
            if old in options:
                options[new] = options.pop(old)
        return _define(**make(*args, **options))

    define.__doc__ = doc
    return define


def _define(
    name: str,
    default: Any,
    help_string: str | None,
    parser: Any,
    flag_values: FlagValues = FLAGS,
    required: bool = False,
    short_name: str | None = None,
    module_name: str | None = None,
    allow_override: bool = False,
    **how: Any,
) -> FlagHolder:
    if required and default is not None:
        raise ValueError(f"Required flag --{name} cannot have a non-None default")
    flag = Flag(parser, how.get("serializer"), name, default, help_string, short_name, how.get("boolean", False),
                allow_override, how.get("many", False))  # fmt: skip
    flag_values._define(flag)
    if required:
        mark_flag_as_required(name, flag_values)
    return FlagHolder(flag_values, flag)


def _simple(parser: Any, **how: Any) -> Callable[..., dict[str, Any]]:
    def make(name: str, default: Any, help: str | None = None, flag_values: FlagValues = FLAGS, **options: Any) -> Any:
        return {
            "name": name, "default": default, "help_string": help, "parser": parser, "flag_values": flag_values,
            **how, **options,
        }  # fmt: skip

    return make


def _numbers(kind: str, many: bool = False) -> Callable[..., dict[str, Any]]:
    def make(
        name: str,
        default: Any,
        help: str | None = None,
        lower_bound: Any = None,
        upper_bound: Any = None,
        flag_values: FlagValues = FLAGS,
        **options: Any,
    ) -> Any:
        parser = _Number(kind, lower_bound, upper_bound)
        return {
            "name": name, "default": default, "help_string": help, "parser": parser, "flag_values": flag_values,
            "many": many, **options,
        }  # fmt: skip

    return make


def _choices(parser_class: Any, many: bool = False) -> Callable[..., dict[str, Any]]:
    def make(
        name: str,
        default: Any,
        enum_values: Any,
        help: str | None = None,
        flag_values: FlagValues = FLAGS,
        case_sensitive: bool | None = None,
        **options: Any,
    ) -> Any:
        parser = parser_class(enum_values) if case_sensitive is None else parser_class(enum_values, case_sensitive)
        return {
            "name": name, "default": default, "help_string": help, "parser": parser, "flag_values": flag_values,
            "many": many, **options,
        }  # fmt: skip

    return make


def _enum_classes(many: bool) -> Callable[..., dict[str, Any]]:
    make = _choices(_EnumClass, many)

    def made(name: str, default: Any, enum_class: Any, *args: Any, **options: Any) -> Any:
        found = make(name, default, enum_class, *args, **options)
        found["serializer"] = lambda member: member.name.lower()
        return found

    return made


DEFINE_string = _definer(_simple(_String()), "Define a string flag: name, default, help.")
DEFINE_boolean = DEFINE_bool = _definer(
    _simple(_Boolean(), boolean=True), "Define a boolean flag, set by --name or --noname: name, default, help."
)
DEFINE_integer = _definer(_numbers("int"), "Define an int flag: name, default, help, lower_bound, upper_bound.")
DEFINE_float = _definer(_numbers("float"), "Define a float flag: name, default, help, lower_bound, upper_bound.")
DEFINE_enum = _definer(
    _choices(_Enum), "Define a flag that is one of several strings: name, default, enum_values, help."
)
DEFINE_enum_class = _definer(
    _enum_classes(False), "Define a flag that is a member of an Enum: name, default, enum_class, help."
)
DEFINE_list = _definer(
    _simple(_List(","), serializer=",".join), "Define a flag of comma-separated strings: name, default, help."
)
DEFINE_spaceseplist = _definer(
    _simple(_List(None), serializer=" ".join), "Define a flag of space-separated strings: name, default, help."
)
DEFINE_multi_string = _definer(_simple(_String(), many=True), "Define a repeatable string flag: name, default, help.")
DEFINE_multi_integer = _definer(_numbers("int", True), "Define a repeatable int flag: name, default, help.")
DEFINE_multi_float = _definer(_numbers("float", True), "Define a repeatable float flag: name, default, help.")
DEFINE_multi_enum = _definer(
    _choices(_Enum, True), "Define a repeatable flag of one of several strings: name, default, enum_values."
)
DEFINE_multi_enum_class = _definer(
    _enum_classes(True), "Define a repeatable flag of Enum members: name, default, enum_class, help."
)


def DEFINE_alias(name: str, original_name: str, flag_values: FlagValues = FLAGS, **_: Any) -> FlagHolder:
    """Define another name for a flag."""
    if original_name not in flag_values:
        raise UnrecognizedFlagError(original_name)
    flag = flag_values[original_name]
    flag_values._flags[name] = flag
    return FlagHolder(flag_values, flag)


def DEFINE_flag(flag: Flag, flag_values: FlagValues = FLAGS, *_: Any, **__: Any) -> FlagHolder:
    """Add a Flag object."""
    flag_values._define(flag)
    return FlagHolder(flag_values, flag)


def set_default(flag_holder: FlagHolder, value: Any) -> None:
    """Change the default of a flag."""
    flag_holder._values.set_default(flag_holder.name, value)


# Validators


def register_validator(
    flag_name: Any, checker: Callable[[Any], Any], message: str = "Flag validation failed", flag_values: Any = FLAGS
) -> None:
    """Reject values for which `checker(value)` is false."""
    name = flag_name.name if isinstance(flag_name, FlagHolder) else flag_name
    flag_values._add_check([name], lambda values: checker(values[name]), message)


def validator(flag_name: Any, message: str = "Flag validation failed", flag_values: Any = FLAGS) -> Any:
    """Return a decorator that does what `register_validator` does."""

    def decorate(checker: Callable[[Any], Any]) -> Callable[[Any], Any]:
        register_validator(flag_name, checker, message, flag_values)
        return checker

    return decorate


def register_multi_flags_validator(
    flag_names: Sequence[Any],
    multi_flags_checker: Any,
    message: str = "Flags validation failed",
    flag_values: Any = FLAGS,
) -> None:
    """Reject values for which the checker, called with a dict of them, returns false."""
    names = [each.name if isinstance(each, FlagHolder) else each for each in flag_names]
    flag_values._add_check(names, multi_flags_checker, message)


def multi_flags_validator(
    flag_names: Sequence[Any], message: str = "Flag validation failed", flag_values: Any = FLAGS
) -> Any:
    """Return a decorator that does what `register_multi_flags_validator` does."""

    def decorate(checker: Any) -> Any:
        register_multi_flags_validator(flag_names, checker, message, flag_values)
        return checker

    return decorate


def mark_flag_as_required(flag_name: Any, flag_values: Any = FLAGS) -> None:
    """Reject None as the value."""
    name = flag_name.name if isinstance(flag_name, FlagHolder) else flag_name
    register_validator(
        name, lambda value: value is not None, f"Flag --{name} must have a value other than None.", flag_values
    )


def mark_flags_as_required(flag_names: Sequence[Any], flag_values: Any = FLAGS) -> None:
    """Reject None as the value of each flag."""
    for each in flag_names:
        mark_flag_as_required(each, flag_values)


def mark_flags_as_mutual_exclusive(flag_names: Sequence[Any], required: bool = False, flag_values: Any = FLAGS) -> None:
    """Require that at most one flag is not None; exactly one if `required`."""
    _exclusive(flag_names, required, flag_values, lambda value: value is not None, "not None")


def mark_bool_flags_as_mutual_exclusive(
    flag_names: Sequence[Any], required: bool = False, flag_values: Any = FLAGS
) -> None:
    """Require that at most one flag is true; exactly one if `required`."""
    _exclusive(flag_names, required, flag_values, bool, "True")


def _exclusive(names: Sequence[Any], required: bool, flag_values: Any, counts: Any, what: str) -> None:
    def accept(values: dict[str, Any]) -> bool:
        count = sum(1 for value in values.values() if counts(value))
        return count == 1 or (count == 0 and not required)

    listed = ", ".join(f"--{each}" for each in names)
    message = f"{'Exactly' if required else 'At most'} one of ({listed}) must have a value that is {what}."
    register_multi_flags_validator(names, accept, message, flag_values)


def declare_key_flag(flag_name: str, flag_values: Any = FLAGS) -> None:
    """Do nothing: the help lists all flags."""


def adopt_module_key_flags(module: Any, flag_values: Any = FLAGS) -> None:
    """Do nothing: the help lists all flags."""


def disclaim_key_flags() -> None:
    """Do nothing: the help lists all flags."""
