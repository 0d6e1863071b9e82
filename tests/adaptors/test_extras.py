"""Without the libraries, the adaptors' errors name the package to install."""

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
    assert done.stdout == f"pipeline.{library} needs {library}: pip install {library}\n"


BACKEND = ". Keras needs a backend: install jax, torch or tensorflow, and set KERAS_BACKEND to its name"


@pytest.mark.parametrize(
    ("library", "fails", "text"),
    [
        ("keras", "import tensorflow_", f"No module named 'tensorflow_'{BACKEND}"),
        ("torch", "import torch._C_", "No module named 'torch._C_'"),
        ("torch", "raise ImportError('libcudart.so.12: cannot open')", "libcudart.so.12: cannot open"),
    ],
)
def test_a_library_that_is_there_and_cannot_be_imported(tmp_path, library, fails, text):
    """It is not reported as missing, because installing it again would not help."""
    (tmp_path / library).mkdir()
    (tmp_path / library / "__init__.py").write_text(f"{fails}\n")
    done = run_script(
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import pipeline\n"
        f"try:\n    import pipeline.{library}\nexcept ImportError as error:\n    print(error)"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"pipeline.{library}: {library} is installed, but cannot be imported: {text}\n"
