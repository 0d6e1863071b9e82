"""Pages with sources outside docs/, and links between them and the others.

A page in docs/ named by PAGES has the text of that file. In every page, links to such a file lead to its page; other
files can be downloaded. The examples page shows the programs too.
"""

import os
import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1]
ROOT = DOCS.parent
PAGES = {
    "project/changes": "CHANGELOG.md",
    "project/contributing": ".github/CONTRIBUTING.md",
    "project/examples": "examples/README.md",
    "project/data": "examples/data/README.md",
    "project/tests": "tests/README.md",
    "project/peers": "bench/results/peers.md",
}
HERE = {ROOT / path: DOCS / f"{page}.md" for page, path in PAGES.items()}
LINK = re.compile(r"(?<=\]\()(?!https?:|#|mailto:)([^)\s#]+)")


def setup(app):
    app.connect("source-read", read)
    return {"parallel_read_safe": True}


def read(app, page, source):
    """Change a page's text, the only item of `source`, in place."""
    origin = ROOT / PAGES[page] if page in PAGES else DOCS / f"{page}.md"
    if page.startswith("api/generated/"):
        return
    text = origin.read_text() if page in PAGES else source[0]
    text = LINK.sub(lambda match: _target(match[1], origin.parent, (DOCS / page).parent), text)
    source[0] = text + _programs() if page == "project/examples" else text


def _target(link, old, new):
    """Rewrite a link from a file in the folder `old` for a page in the folder `new`."""
    path = Path(os.path.normpath(old / link))
    if path.parent == ROOT / "examples" and path.suffix == ".py":
        return f"{os.path.relpath(DOCS / 'project' / 'examples.md', new)}#{path.name.replace('.', '')}"
    return os.path.relpath(HERE.get(path, path), new)


def _programs():
    """Return the programs in examples/, each below its name."""
    return "".join(
        f"\n## {path.name}\n\n```{{literalinclude}} ../../examples/{path.name}\n:language: python\n```\n"
        for path in sorted((ROOT / "examples").glob("*.py"))
    )
