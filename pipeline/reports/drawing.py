"""draw: a run as a picture, to look at or to keep as SVG or PNG."""

from __future__ import annotations

import os
from typing import Any

from pipeline.diagnostics import live
from pipeline.dtypes import local_path
from pipeline.files.replacing import replacing
from pipeline.reports.picture import FONTS
from pipeline.reports.report import Report
from pipeline.reports.sampler import report

_PROBE = '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20">{}</svg>'


class Drawing:
    """A picture of a run at one moment, for a notebook. `str` returns the SVG.

    Attributes:
        svg: The picture as SVG. It brings a light and a dark background.

    Examples:
        >>> drawing = pipeline.draw(pipeline.FIFOQueue(10, "int32", [()], name="examples"))
        >>> drawing.save("run.svg")
        >>> str(drawing).startswith("<svg")
        True
    """

    def __init__(self, svg: str) -> None:
        """Use `draw`."""
        self.svg = svg

    def __str__(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<Drawing: {len(self.svg):,} characters of SVG>"

    def _repr_svg_(self) -> str:
        return self.svg

    def png(self, zoom: float = 2.0) -> bytes:
        """Return the picture as PNG, on its light background.

        Args:
            zoom: Pixels per SVG pixel.

        Raises:
            ImportError: resvg_py is not installed: the extra `draw`.
            RuntimeError: There is no font on this system.
            ValueError: `zoom` is not above 0.
            TypeError: It is not a number.
        """
        if isinstance(zoom, bool) or not isinstance(zoom, (int, float)):
            raise TypeError(f"zoom must be a number, got {type(zoom).__name__} {zoom!r:.80}")
        if not zoom > 0:
            raise ValueError(f"zoom must be above 0, got {zoom}")
        try:
            # An extra, and only PNG needs it.
            from resvg_py import svg_to_bytes  # type: ignore[import-not-found, unused-ignore]
        except ImportError as error:
            raise ImportError("pictures as PNG need resvg_py: pip install resvg_py") from error
        letters = _PROBE.format(f'<text x="2" y="15" font-size="12" font-family="{FONTS}">x</text>')
        if svg_to_bytes(svg_string=letters) == svg_to_bytes(svg_string=_PROBE.format("")):
            raise RuntimeError("pictures as PNG need a font, and this system has none: install one, or save an SVG")
        return bytes(svg_to_bytes(svg_string=self.svg, zoom=zoom))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture to a file, as SVG or PNG by its extension.

        Raises:
            ValueError: The name ends neither with .svg nor with .png.
            ImportError: It ends with .png, and resvg_py is not installed.
            OSError: The file cannot be written. An old one is as it was.
            FailedPreconditionError: The name belongs to something other than a regular file.
        """
        name = local_path(path, "save: path")
        suffix = os.path.splitext(name)[1].lower()
        if suffix not in (".svg", ".png"):
            raise ValueError(f"{name}: a drawing is saved as .svg or .png")
        data = self.svg.encode() if suffix == ".svg" else self.png()
        try:
            with replacing(os.path.realpath(os.fsencode(name))) as file:
                file.write(data)
        except OSError as error:
            error.filename, error.filename2 = name, None
            raise


def draw(what: Any = None) -> Drawing:
    """Draw queues and threads as tanks with their levels: the empty one shows the bottleneck.

    In a notebook, `pipeline.draw(batches)` as a cell's last line shows the picture. `.save("run.svg")` keeps it.

    Args:
        what: A loop or iterator, a queue, or a report; None draws everything.

    Returns:
        The picture of this moment.

    Raises:
        TypeError: `what` is something else.

    Thread safety: you may call it from any thread, at any time.

    Examples:
        >>> queue = pipeline.FIFOQueue(100, "float32", shapes=[()], name="pool")
        >>> queue.enqueue_many([[1.0, 2.0, 3.0]])
        >>> pipeline.draw(queue).svg.startswith("<svg")
        True
    """
    if isinstance(what, Report):
        return Drawing(what.to_svg())
    if what is None or live.loops.number(what) is not None:
        return Drawing(report(what).to_svg())
    if live.queues.number(what) is None:
        raise TypeError(f"draw: expected an iterator, a queue, a report or None, got {type(what).__name__}")
    return Drawing(what._repr_html_())
