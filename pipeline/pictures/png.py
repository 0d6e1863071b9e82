"""SVG to PNG, by resvg: a compiled renderer without libraries of the system."""

from __future__ import annotations

from pipeline.pictures.tanks import FONTS

_PROBE = '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20">{}</svg>'


def to_png(svg: str, zoom: float = 2.0) -> bytes:
    """Return the picture as PNG, with so many pixels for each of the SVG.

    Raises:
        ImportError: resvg_py is not installed.
        RuntimeError: There is no font on this system.
    """
    try:
        # An extra, and only PNG needs it.
        from resvg_py import svg_to_bytes  # type: ignore[import-not-found, unused-ignore]
    except ImportError as error:
        raise ImportError("pictures as PNG need resvg_py: pip install 'queue-runner[draw]'") from error
    letters = _PROBE.format(f'<text x="2" y="15" font-size="12" font-family="{FONTS}">x</text>')
    if svg_to_bytes(svg_string=letters) == svg_to_bytes(svg_string=_PROBE.format("")):
        raise RuntimeError("pictures as PNG need a font, and this system has none: install one, or save an SVG")
    return bytes(svg_to_bytes(svg_string=svg, zoom=zoom))
