"""Without the libraries, the adaptors say what to install."""

import pytest
from helpers import run_script


@pytest.mark.parametrize("library", ["jax", "torch"])
@pytest.mark.parametrize("use", ["pipeline.{}", "import pipeline.{}", "from pipeline.{} import DataLoader"])
def test_what_to_install(library, use):
    done = run_script(
        f"import sys; sys.modules[{library!r}] = None; import pipeline\n"
        f"try:\n    {use.format(library)}\nexcept ImportError as error:\n    print(error)"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"pipeline.{library} needs {library}: pip install 'queue-runner[{library}]'\n"
