"""Stubs for `pipeline.compat.v1`, whose names are looked up at run time: editors and type checkers read them.

`python tests/support/compat_stub.py` writes them again; a package folder has a stub for each namespace.
"""

import textwrap
from pathlib import Path

from pipeline.compat import names

ROOT = Path(names.__file__).parent / "v1"
HEAD = '"""Made by tests/support/compat_stub.py from pipeline/compat/names.py."""\n\n'


def table():
    """Return each public dotted name's module and attribute."""
    for module, listed in names.MODULES.items():
        home = f"pipeline{module}" if module.startswith(".") else f"pipeline.compat.{module}"
        for each in listed.split():
            public, _, attribute = each.partition("=")
            yield public, home, attribute or public.rpartition(".")[2]


def stubs():
    """Return each stub's text, by its path below the package."""
    spaces = {"": {("pipeline.compat.platform.behaviour", "VERSION", "__version__")}}
    for public, home, attribute in table():
        space, _, name = public.rpartition(".")
        spaces.setdefault(space, set()).add((home, attribute, name))
        while space:  # each namespace is a name in its parent
            outer, _, inner = space.rpartition(".")
            around = f"pipeline.compat.v1.{outer}".rstrip(".")
            spaces.setdefault(outer, set()).add((around, inner, inner))
            space = outer
    spaces["compat"].add(("pipeline.compat", "v1", "v1"))
    return {_path(space, spaces): HEAD + _lines(names) for space, names in spaces.items()}


def _lines(names):
    """Imports that keep their name are public in a stub; other imports are private, and get their name below."""
    imports, given = {}, []
    for home, attribute, name in sorted(names):
        if attribute == name:
            imports.setdefault(home, []).append(f"{name} as {name}")
        else:
            imports.setdefault(home, []).append(f"{attribute} as _{name}")
            given.append(f"{name} = _{name}\n")
    lines = []
    for home, parts in sorted(imports.items()):
        line = f"from {home} import {', '.join(parts)}\n"
        if len(line) > 120:
            parts = textwrap.fill(", ".join(part.replace(" ", "\0") for part in parts), 114).replace("\0", " ")
            line = f"from {home} import (\n{textwrap.indent(parts, '    ')},\n)\n"
        lines.append(line)
    return "".join(lines + sorted(given))


def _path(space, spaces):
    """Return a namespace's path; a namespace with others inside is a folder."""
    inner = any(other.startswith(f"{space}.") for other in spaces) or not space
    return (space.replace(".", "/") + ("/__init__.pyi" if inner else ".pyi")).lstrip("/")


def written():
    """Return the package's current stubs."""
    return {path.relative_to(ROOT).as_posix(): path.read_text() for path in ROOT.rglob("*.pyi")}


if __name__ == "__main__":
    for old in written():
        (ROOT / old).unlink()
    for path, text in stubs().items():
        file = ROOT / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
