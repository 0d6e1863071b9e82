"""Notebooks in examples/ run, print the output they show, and need no terminal."""

from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
NotebookClient = pytest.importorskip("nbclient", reason="nbclient is not installed").NotebookClient
pytest.importorskip("ipykernel", reason="ipykernel is not installed")

EXAMPLES = Path(__file__).parents[2] / "examples"


def kinds(notebook):
    """Return each cell's output types."""
    return [sorted({kind for output in cell.outputs for kind in output.get("data", {})}) for cell in code(notebook)]


def texts(notebook):
    return [output.get("data", {}).get("text/plain") for cell in code(notebook) for output in cell.outputs]


def code(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.ipynb")), ids=lambda path: path.name)
@pytest.mark.filterwarnings("default")  # warnings by jupyter_client and zmq are not ours
def test_a_notebook(path):
    kept = nbformat.read(path, as_version=4)
    run = nbformat.from_dict(kept)
    NotebookClient(run, timeout=300, resources={"metadata": {"path": str(EXAMPLES)}}).execute()
    assert kinds(run) == kinds(kept)
    if path.name != "watch.ipynb":  # its output contains times
        assert texts(run) == texts(kept)
    for cell in code(run):
        for output in cell.outputs:
            assert output.output_type != "stream", output
            assert "\x1b" not in str(output.data)


def test_a_monitor_in_a_notebook():
    """One picture is redrawn during the run; the last version shows the end."""
    notebook = nbformat.read(EXAMPLES / "watch.ipynb", as_version=4)
    pictures = [output.data["text/html"] for output in code(notebook)[1].outputs]
    assert len(pictures) == 1
    assert "<svg" in pictures[0]
    assert "load" in pictures[0]
    assert "Bottleneck" in pictures[0]
