"""List every source file with the first line of its docstring or comment: a table for docs/files.md."""

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def rows(root=ROOT):
    """Return (folder, [(file name, its idea), ...]) for each source folder, packages in order."""
    paths = [*sorted((root / "pipeline").rglob("*.py")), *sorted((root / "pyx").glob("*.p[yx][xd]"))]
    folders = {}
    for path in paths:
        if path.name != "__init__.py":
            folder = path.parent.relative_to(root).as_posix() + "/"
            folders.setdefault(folder, []).append((path.name, idea(path.read_text(), path.suffix)))
    return sorted(folders.items())


def idea(text, suffix):
    """Return the first line, which describes the file."""
    if suffix == ".py":
        return (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0]
    found = re.search(r'\A(?:#.*\n)*?(?:# (?!cython|distutils)(.*)|"""(.*))', text)
    return (found[1] or found[2]).strip().removesuffix('"""') if found else ""


def markdown():
    """Return the tables, one a folder, as Markdown."""
    parts = []
    for folder, files in rows():
        table = "\n".join(f"| `{name}` | {told.replace('|', chr(92) + '|')} |" for name, told in files)
        parts.append(f"### `{folder}`\n\n| file | its idea |\n|---|---|\n{table}\n")
    return "\n".join(parts)


def setup(app):
    """Give Sphinx the directive `file-table`."""
    from docutils import nodes  # only where Sphinx runs
    from docutils.parsers.rst import Directive

    class FileTable(Directive):
        def run(self):
            section = nodes.container()
            self.state.nested_parse(markdown().splitlines(), 0, section)
            return section.children

    app.add_directive("file-table", FileTable)
    return {"parallel_read_safe": True}


if __name__ == "__main__":
    sys.stdout.write(markdown())
