"""Check that a release's tag, version and changelog agree: `make check-release TAG=v0.4.0`.

python .ci/check_release.py TAG [FILE...]    FILE: a wheel or sdist, which must have the tag's version too
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def faults(tag, files):
    """Yield the differences between a tag, the sources and the built files."""
    version = re.search(r'^__version__ = "(.*)"$', (ROOT / "pipeline" / "__init__.py").read_text(), re.MULTILINE)[1]
    if tag != f"v{version}":
        yield f"the tag is {tag}, but __version__ in pipeline/__init__.py is {version}: expected v{version}"
    heading = re.search(r"^## .*$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[0]
    if not re.fullmatch(rf"## {re.escape(version)} \(\d{{4}}-\d\d-\d\d\)", heading):
        yield f"CHANGELOG.md begins with {heading!r}: expected '## {version} (YYYY-MM-DD)'"
    for file in files:
        if not re.match(rf"queue_runner-{re.escape(version)}(-|\.tar)", Path(file).name):
            yield f"{file} is not a file of {version}"


def main(tag, *files):
    """Print the faults; return the exit status."""
    found = list(faults(tag, files))
    print("\n".join(found) if found else f"{tag}: version, changelog and {len(files)} files agree")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
