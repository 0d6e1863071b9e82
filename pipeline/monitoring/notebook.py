"""A report in the output of a notebook's cell, drawn anew while the cell runs."""

from __future__ import annotations

import contextvars
import sys
from typing import Any

from pipeline.monitoring.boxes import to_html
from pipeline.monitoring.report import Report


def in_notebook() -> bool:
    """Whether this is the kernel of a notebook, and no terminal."""
    ipython = sys.modules.get("IPython")  # a notebook has imported it
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    return getattr(shell, "kernel", None) is not None


class CellOutput:
    """The output of the cell that runs now."""

    def __init__(self) -> None:
        self._context = contextvars.copy_context()  # it names the cell, to other threads too
        self._handle: Any = None

    def show(self, report: Report) -> None:
        """Show a report in the place of the one before."""
        self._context.copy().run(self._show, _Page(report))

    def _show(self, page: _Page) -> None:
        if self._handle is None:
            self._handle = sys.modules["IPython"].display.display(page, display_id=True)
        else:
            self._handle.update(page)


class _Page:
    """A report; its text for a notebook that shows no HTML."""

    def __init__(self, report: Report) -> None:
        self._report = report

    def __repr__(self) -> str:
        return str(self._report)

    def _repr_html_(self) -> str:
        return to_html(self._report)
