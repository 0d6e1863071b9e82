"""Stubs of `pipeline.compat.v1`, whose names are looked up at run time: with them, editors and type checkers know them.

`python tests/support/compat_stub.py` writes them again; a folder of the package has a stub for each namespace.
"""

from pathlib import Path

from pipeline.compat import names

ROOT = Path(names.__file__).parent / "v1"
HEAD = '"""Made by tests/support/compat_stub.py from pipeline/compat/names.py."""\n\n'


def table():
    """The module and the attribute of each public dotted name."""
    for module, listed in names.MODULES.items():
        home = f"pipeline{module}" if module.startswith(".") else f"pipeline.compat.{module}"
        for each in listed.split():
            public, _, attribute = each.partition("=")
            yield public, home, attribute or public.rpartition(".")[2]


def stubs():
    """The text of each stub, by its path below the package."""
    spaces = {"": _lines("pipeline.compat.platform.behaviour", "VERSION", "__version__")}
    for public, home, attribute in table():
        space, _, name = public.rpartition(".")
        spaces.setdefault(space, []).extend(_lines(home, attribute, name))
        while space:  # each namespace is a name of the one around it
            outer, _, inner = space.rpartition(".")
            around = f"pipeline.compat.v1.{outer}".rstrip(".")
            spaces.setdefault(outer, []).append(f"from {around} import {inner} as {inner}")
            space = outer
    spaces["compat"].append("from pipeline.compat import v1 as v1")
    return {
        _path(space, spaces): HEAD + "\n".join(sorted(set(lines), key=_order)) + "\n" for space, lines in spaces.items()
    }


def _lines(home, attribute, name):
    """An import that keeps its name is public in a stub; one that changes it is not."""
    if attribute == name:
        return [f"from {home} import {name} as {name}"]
    return [f"from {home} import {attribute} as _{name}", f"{name} = _{name}"]


def _path(space, spaces):
    """A namespace that holds others is a folder."""
    inner = any(other.startswith(f"{space}.") for other in spaces) or not space
    return (space.replace(".", "/") + ("/__init__.pyi" if inner else ".pyi")).lstrip("/")


def _order(line):
    return not line.startswith("from "), line


def written():
    """The stubs as they are in the package."""
    return {path.relative_to(ROOT).as_posix(): path.read_text() for path in ROOT.rglob("*.pyi")}


if __name__ == "__main__":
    for old in written():
        (ROOT / old).unlink()
    for path, text in stubs().items():
        file = ROOT / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
