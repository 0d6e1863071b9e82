"""FLAGS: the flags that a program defines, and how a command line sets them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any


class Error(Exception):
    """The base class of errors about flags."""


class CantOpenFlagFileError(Error):
    """A file given by `--flagfile` cannot be read."""


class DuplicateFlagError(Error):
    """Two flags have the same name."""


class FlagNameConflictsWithMethodError(Error):
    """A flag has the name of a method of FLAGS."""


class IllegalFlagValueError(Error):
    """A flag cannot have this value."""


class UnparsedFlagAccessError(Error):
    """A flag was read before the command line was parsed."""


class ValidationError(Error):
    """A validator rejects the values."""


class UnrecognizedFlagError(Error):
    """There is no such flag.

    Args:
        flagname: The unknown name.
        flagvalue: The value given for it.
        suggestions: Similar names of flags.
    """

    def __init__(self, flagname: str, flagvalue: Any = "", suggestions: Sequence[str] = ()) -> None:
        self.flagname, self.flagvalue = flagname, flagvalue
        hint = f". Did you mean: {', '.join(suggestions)} ?" if suggestions else ""
        super().__init__(f"Unknown command line flag '{flagname}'{hint}")


class Flag:
    """One flag.

    Attributes:
        name, short_name, help: As defined.
        default: The default value.
        value: The current value.
        present: How many times the command line sets it.
        boolean: Whether `--name` and `--noname` set it without a value.
    """

    def __init__(
        self,
        parser: Any,
        serializer: Any = None,
        name: str = "",
        default: Any = None,
        help_string: str | None = None,
        short_name: str | None = None,
        boolean: bool = False,
        allow_override: bool = False,
        many: bool = False,
    ) -> None:
        self.parser, self.serializer, self.name, self.short_name = parser, serializer, name, short_name
        self.help, self.boolean, self.allow_override, self.many = help_string or "", boolean, allow_override, many
        self.present = 0
        self.using_default_value = True
        self.validators: list[tuple[Callable[[Any], Any], str]] = []
        self._set_default(default)

    def _set_default(self, default: Any) -> None:
        self.default = None if default is None else self._converted(default)
        if self.using_default_value:
            self.value = self.default

    def _converted(self, given: Any) -> Any:
        try:
            if self.many:
                many = isinstance(given, (list, tuple)) and not isinstance(given, str)
                return [self.parser(each) for each in (given if many else [given])]
            return self.parser(given)
        except (TypeError, ValueError) as error:
            raise IllegalFlagValueError(f"flag --{self.name}={given}: {error}") from error

    def parse(self, text: Any) -> None:
        """Set the value from the command line; a flag that may be repeated collects its values."""
        value = self._converted(text)
        self.value = self.value + value if self.many and self.present else value
        self.present += 1
        self.using_default_value = False

    def unparse(self) -> None:
        """Restore the default."""
        self.value, self.present, self.using_default_value = self.default, 0, True

    def serialize(self) -> str:
        """Return the flag as a command line sets it; "" if the value is None."""
        if self.value is None:
            return ""
        if self.boolean:
            return f"--{self.name}" if self.value else f"--no{self.name}"
        if self.many:
            return "\n".join(f"--{self.name}={each}" for each in self.value)
        return f"--{self.name}={self.serializer(self.value) if self.serializer else self.value}"

    def flag_type(self) -> str:
        """Return the kind of value, such as "string"."""
        return getattr(self.parser, "kind", "string")


class FlagValues:
    """All flags of a program: `FLAGS.name` is a value. The first access to a value parses the command line.

    Thread safety: define and parse flags in one thread; any thread may read values after that.
    """

    def __init__(self) -> None:
        self.__dict__["_flags"] = {}
        self.__dict__["_parsed"] = False
        self.__dict__["_gnu"] = True
        self.__dict__["_checks"] = []

    # Values

    def __getattr__(self, name: str) -> Any:
        if name == "__flags":
            return self._flags  # the flags by name, which programs print
        flag = self._flags.get(name)
        if name.startswith("__") or (flag is None and self._parsed):
            raise AttributeError(name)
        if not self._parsed:
            self(sys.argv)
            flag = self._flags.get(name)
        if flag is None:
            raise AttributeError(name)
        return flag.value

    def __setattr__(self, name: str, value: Any) -> None:
        flag = self._flags.get(name)
        if flag is None:
            raise UnrecognizedFlagError(name, value)
        flag.value, flag.using_default_value = value, False
        self._check_all([flag])

    def __delattr__(self, name: str) -> None:
        flag = self._flags.get(name)
        if flag is None:
            raise AttributeError(name)
        for key in [key for key, each in self._flags.items() if each is flag]:
            del self._flags[key]

    def __getitem__(self, name: str) -> Flag:
        return self._flags[name]  # type: ignore[no-any-return]

    def __setitem__(self, name: str, flag: Flag) -> None:
        self._define(flag if flag.name == name else _renamed(flag, name))

    def __contains__(self, name: object) -> bool:
        return name in self._flags

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._flags))

    def __len__(self) -> int:
        return len(self._flags)

    def __dir__(self) -> list[str]:
        return sorted(self._flags)

    def flag_values_dict(self) -> dict[str, Any]:
        """Return all values by name."""
        return {name: flag.value for name, flag in self._flags.items()}

    def get_flag_value(self, name: str, default: Any) -> Any:
        """Return the value, or `default` if it is None or there is no such flag."""
        value = self._flags[name].value if name in self._flags else None
        return default if value is None else value

    def set_default(self, name: str, value: Any) -> None:
        """Change the default of a flag, and its value unless the command line set it."""
        flag = self._flags.get(name)
        if flag is None:
            raise UnrecognizedFlagError(name, value)
        flag._set_default(value)
        self._check_all([flag])

    # Definitions

    def _define(self, flag: Flag) -> None:
        for name in filter(None, (flag.name, flag.short_name)):
            old = self._flags.get(name)
            if old is not None and not (flag.allow_override or old.allow_override):
                raise DuplicateFlagError(f"The flag '{name}' is defined twice. {_where(old)}")
            if hasattr(type(self), name):
                raise FlagNameConflictsWithMethodError(
                    f"Cannot define a flag '{name}': FLAGS has a method of this name."
                )
            self._flags[name] = flag

    def _add_check(self, names: Sequence[str], accept: Callable[[dict[str, Any]], Any], message: str) -> None:
        unknown = [name for name in names if name not in self._flags]
        if unknown:
            raise AttributeError(unknown[0])
        self._checks.append((tuple(names), accept, message))

    def _check_all(self, flags: Sequence[Flag] | None = None) -> None:
        wanted = None if flags is None else {flag.name for flag in flags}
        for names, accept, message in self._checks:
            if wanted is not None and not wanted.intersection(names):
                continue
            values = {name: self._flags[name].value for name in names if name in self._flags}
            shown = ", ".join(f"flag --{name}={value}" for name, value in values.items())
            try:
                accepted = accept(values)
            except ValidationError as error:
                raise IllegalFlagValueError(f"{shown}: {error}") from error
            if not accepted:
                raise IllegalFlagValueError(f"{shown}: {message}")

    # The command line

    def __call__(self, argv: Sequence[str], known_only: bool = False) -> list[str]:
        """Parse the flags of a command line.

        Args:
            argv: The program's name and its arguments.
            known_only: Return unknown flags with the rest instead of raising.

        Returns:
            The program's name and the arguments that are not flags.

        Raises:
            UnrecognizedFlagError: A flag is not defined.
            IllegalFlagValueError: A value cannot be parsed, or a validator rejects it.
            ValueError: `--noname` has a value, or `argv` is empty.
        """
        if isinstance(argv, (str, bytes)):
            raise TypeError("argv should be a tuple/list of strings, not bytes or string.")
        if not argv:
            raise ValueError("argv cannot be an empty list, and must contain the program name as the first element.")
        rest = self._take(self.read_flags_from_files(argv[1:]), known_only)
        self.__dict__["_parsed"] = True
        self._check_all()
        return [argv[0], *rest]

    def _take(self, args: list[str], known_only: bool) -> list[str]:
        """Parse all flags among the arguments, and return the rest."""
        rest: list[str] = []
        unknown: list[tuple[str, str]] = []
        tolerated: set[str] = set()
        left = iter(args)
        for arg in left:
            if arg == "--":
                rest += [arg, *left] if known_only else list(left)
                break
            if not arg.startswith("-") or arg == "-":
                rest.append(arg)
                if not self._gnu:
                    rest += left
                continue
            name, equals, text = arg.lstrip("-").partition("=")
            if not name:
                raise Error(f"Not a flag: {arg}")
            if name == "undefok":
                tolerated.update(each for one in text.split(",") for each in (one.strip(), f"no{one.strip()}"))
            elif not self._take_flag(arg, name, text if equals else None, left):
                unknown.append((name, arg))
                if known_only:
                    rest.append(arg)
        missing = [(name, arg) for name, arg in unknown if name not in tolerated]
        if missing and not known_only:
            import difflib  # 1 ms, which a program without the mistake need not wait for

            name, arg = missing[0]
            raise UnrecognizedFlagError(name, arg, difflib.get_close_matches(name, list(self._flags), 3, 0.6))
        return rest

    def _take_flag(self, arg: str, name: str, text: str | None, following: Iterator[str]) -> bool:
        """Parse one flag, whose value may be the next of the `following` arguments. False if there is no such flag."""
        flag = self._flags.get(name)
        off = self._flags.get(name[2:]) if flag is None and name.startswith("no") else None
        if off is not None and off.boolean:
            if text is not None:
                raise ValueError(f"{arg} does not take an argument")
            off.parse("false")
        elif flag is None:
            return False
        elif text is not None or flag.boolean:
            flag.parse("true" if text is None else text)
        else:
            value = next(following, None)
            if value is None:
                raise Error(f"Missing value for flag {arg}")
            flag.parse(value)
        return True

    def read_flags_from_files(self, argv: Sequence[str], force_gnu: bool = True) -> list[str]:
        """Return the arguments with each `--flagfile=` replaced by the arguments in the file."""
        found: list[str] = []
        for number, arg in enumerate(argv):
            if arg == "--" or (not arg.startswith("-") and not self._gnu):
                return found + list(argv[number:])
            if arg.startswith(("--flagfile=", "-flagfile=")):
                found += self._file(arg.partition("=")[2])
            else:
                found.append(arg)
                if "=" not in arg and self._takes_next(arg) and number + 1 < len(argv):
                    return found + [argv[number + 1], *self.read_flags_from_files(argv[number + 2 :])]
        return found

    def _takes_next(self, arg: str) -> bool:
        flag = self._flags.get(arg.lstrip("-"))
        return flag is not None and not flag.boolean

    def _file(self, path: str) -> list[str]:
        try:
            with open(path, encoding="utf-8") as file:
                lines = [line.strip() for line in file]
        except OSError as error:
            raise CantOpenFlagFileError(f"ERROR:: Unable to open flagfile: {error}") from error
        lines = [line for line in lines if line and not line.startswith(("#", "//"))]
        return self.read_flags_from_files(lines)

    def is_parsed(self) -> bool:
        """Whether a command line was parsed."""
        return bool(self._parsed)

    def mark_as_parsed(self) -> None:
        """Allow access to values without a command line."""
        self.__dict__["_parsed"] = True

    def unparse_flags(self) -> None:
        """Restore all defaults, as if no command line was parsed."""
        self.__dict__["_parsed"] = False
        for flag in self._flags.values():
            flag.unparse()

    def set_gnu_getopt(self, gnu_getopt: bool = True) -> None:
        """Allow flags after other arguments, or not."""
        self.__dict__["_gnu"] = gnu_getopt

    def is_gnu_getopt(self) -> bool:
        """Whether flags may follow other arguments."""
        return bool(self._gnu)

    # Texts

    def flags_into_string(self) -> str:
        """Return all flags as the lines of a flag file."""
        flags = {id(flag): flag for _, flag in sorted(self._flags.items())}
        return "".join(f"{flag.serialize()}\n" for flag in flags.values() if flag.value is not None)

    def append_flags_into_file(self, filename: str) -> None:
        """Append all flags to a flag file."""
        with open(filename, "a", encoding="utf-8") as file:
            file.write(self.flags_into_string())

    def get_help(self, prefix: str = "", include_special_flags: bool = True) -> str:
        """Return the help of all flags."""
        flags = {id(flag): flag for _, flag in sorted(self._flags.items())}
        return "\n".join(f"{prefix}{line}" for flag in flags.values() for line in _help(flag))

    main_module_help = get_help


def _help(flag: Flag) -> list[str]:
    short = f"-{flag.short_name}," if flag.short_name else ""
    title = f"--[no]{flag.name}" if flag.boolean else f"--{flag.name}"
    lines = [f"  {short}{title}: {flag.help}"]
    if flag.default is not None:
        shown = str(flag.default).lower() if flag.boolean else f"'{flag.default}'"
        lines.append(f"    (default: {shown})")
    if flag.flag_type() not in ("string", "bool"):
        lines.append(f"    (a value of type {flag.flag_type()})")
    return lines


def _where(flag: Flag) -> str:
    return f"Description from first occurrence: {flag.help}"


def _renamed(flag: Flag, name: str) -> Flag:
    flag.name = name
    return flag


FLAGS = FlagValues()
