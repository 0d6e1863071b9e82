"""The table of differences allowed on resume: each cell is a run."""

from pathlib import Path

from resume_matrix import table

PAGE = Path(__file__).parents[2] / "docs" / "reproducibility.md"


def test_the_table_is_what_runs_give():
    """To update it: `python tests/support/resume_matrix.py`."""
    text = PAGE.read_text()
    begin = text.index("| step | before `shard`")
    assert text[begin : text.index("\n\n", begin) + 1] == table()
