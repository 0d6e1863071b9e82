"""The Python programs on a documentation page, as scripts with the page's line numbers.

A page's blocks form one program. Hidden setup code is in comments beginning with `<!-- python`. A block with an extra
word (```python torch) is a separate program. A block is left out if its imports are not installed or an earlier block
it needs was left out.
"""

import ast
import importlib.util
import os
import re
import subprocess
import symtable
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(
    r"^(?:```python *(\w*)|<!-- python)\n(.*?)^(?:```|-->)$(?:\n+```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL
)
MARK = "\x1e"  # between the outputs from a program's blocks


@dataclass
class Block:
    line: int  # on the page: the first line of the code
    code: str
    word: str
    shown: str | None = None  # the output shown on the page, in a text block right after it
    missing: list[str] = field(default_factory=list)  # missing libraries, needed directly or by a name it uses

    def __post_init__(self):
        nodes = list(ast.walk(ast.parse(self.code)))
        imported = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
        imported += [node.module for node in nodes if isinstance(node, ast.ImportFrom)]
        imported += re.findall(r"\bpipeline\.(torch|jax|keras)\b", self.code)
        self.missing = sorted({top for name in imported if not _found(top := name.partition(".")[0])})
        top = symtable.symtable(self.code, "page", "exec")
        self.imported = {name.get_name() for name in top.get_symbols() if name.is_imported()}
        self.assigned = {name.get_name() for name in top.get_symbols() if name.is_assigned()}
        self.used = set(_globals(top)) - self.imported - self.assigned


def _globals(table):
    """Return the page's names looked up in a scope, or in one within it."""
    here = table.get_type() == "module"
    for name in table.get_symbols():
        if name.is_referenced() and (here or name.is_global()):
            yield name.get_name()
    for inner in table.get_children():
        yield from _globals(inner)


def _found(module):
    return importlib.util.find_spec(module) is not None


def blocks(text):
    found = []
    for match in BLOCK.finditer(text):
        found.append(
            Block(
                text.count("\n", 0, match.start(2)) + 1,
                match[2],
                match[1] or "",
                match[3] if match[1] is not None else None,
            )
        )
    modules, lost = set(), {}  # imported modules; missing names, and why
    for block in found:
        if block.word:
            continue
        block.missing += sorted({lost[name] for name in block.used & lost.keys()} - set(block.missing))
        if block.missing:
            lost |= dict.fromkeys(block.assigned | (block.imported - modules), block.missing[0])
        else:
            modules |= block.imported
            lost = {name: why for name, why in lost.items() if name not in block.imported | block.assigned}
    return found


def programs(text):
    """Return the programs as lists of blocks, and the blocks left out."""
    found = blocks(text)
    runnable = [block for block in found if not block.missing]
    page = [block for block in runnable if not block.word]
    own = [[block] for block in runnable if block.word]
    return ([page] if page else []) + own, [block for block in found if block.missing]


def script(chosen, mark=False):
    """Return one text, with each block on its own lines. With a mark, each prints it at its end."""
    lines = []
    for block in chosen:
        lines += [""] * (block.line - 1 - len(lines)) + block.code.splitlines()
        if mark:
            lines.append(f"if __name__ == '__main__': print(end={MARK!r})")  # not in its processes
    return "\n".join(lines) + "\n"


# Warnings are errors, but for google-crc32c's on a Python without its compiled wheel.
STRICT = ("-W", "error", "-W", "ignore:As the c extension:RuntimeWarning")


def run(text, folder, name="page"):
    """Run a program in a folder with only examples/, like a clone; return its output, or raise its error."""
    if not (folder / "examples").exists():
        (folder / "examples").symlink_to(ROOT / "examples")
    path = folder / f"{name}.py"
    path.write_text(text)
    done = subprocess.run(
        [sys.executable, *STRICT, str(path)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(each for each in sys.path if each)},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
