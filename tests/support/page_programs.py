"""The Python programs on a page of the documentation, as scripts whose line numbers are those of the page.

The blocks of a page are one program. What it stands on, and readers need not see, is in comments that begin with
`<!-- python`. A block with a word of its own (```python torch) is a program by itself. A block that imports what is not
installed is left out, and so are later ones that use what it defines.
"""

import ast
import importlib.util
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^(?:```python *(\w*)|<!-- python)\n(.*?)^(?:```|-->)$", re.MULTILINE | re.DOTALL)


@dataclass
class Block:
    line: int  # of the page: the first line of the code
    code: str
    word: str
    missing: list[str] = field(default_factory=list)  # libraries that it needs, itself or for what it uses

    def __post_init__(self):
        nodes = list(ast.walk(ast.parse(self.code)))
        imported = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
        imported += [node.module for node in nodes if isinstance(node, ast.ImportFrom)]
        self.missing = sorted({top for name in imported if not _found(top := name.partition(".")[0])})
        names = [node for node in nodes if isinstance(node, ast.Name)]
        self.bound = {node.id for node in names if not isinstance(node.ctx, ast.Load)}
        self.bound |= {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
        aliases = [alias for node in nodes if isinstance(node, ast.Import | ast.ImportFrom) for alias in node.names]
        self.bound |= {alias.asname or alias.name.partition(".")[0] for alias in aliases}
        self.used = {node.id for node in names if isinstance(node.ctx, ast.Load)} - self.bound


def _found(module):
    return importlib.util.find_spec(module) is not None


def blocks(text):
    found = []
    for match in BLOCK.finditer(text):
        found.append(Block(text.count("\n", 0, match.start(2)) + 1, match[2], match[1] or ""))
    known, lost = set(), {}  # names that are there, and why others are not
    for block in found:
        if block.word:
            continue
        block.missing += sorted({lost[name] for name in block.used & lost.keys()} - set(block.missing))
        if block.missing:
            lost |= dict.fromkeys(block.bound - known, block.missing[0])
        else:
            known |= block.bound
            lost = {name: why for name, why in lost.items() if name not in known}
    return found


def programs(text):
    """Return the lists of blocks that are one program each, and the blocks that are left out."""
    found = blocks(text)
    runnable = [block for block in found if not block.missing]
    page = [block for block in runnable if not block.word]
    own = [[block] for block in runnable if block.word]
    return ([page] if page else []) + own, [block for block in found if block.missing]


def script(chosen):
    """One text, each block in its own lines."""
    lines = []
    for block in chosen:
        lines += [""] * (block.line - 1 - len(lines)) + block.code.splitlines()
    return "\n".join(lines) + "\n"


def run(text, folder, name="page"):
    """Run a program in a folder that has the example data; return its output, or fail with the error that it gave."""
    if not (folder / "examples").exists():
        (folder / "examples").symlink_to(ROOT / "examples")
    path = folder / f"{name}.py"
    path.write_text(text)
    done = subprocess.run(
        [sys.executable, "-W", "error", str(path)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(each for each in sys.path if each)},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
