"""The drawings in the docs match the program that draws them."""

import runpy

from page_programs import ROOT


def test_the_drawings_are_those_of_their_program():
    drawings = runpy.run_path(str(ROOT / "docs" / "img" / "drawings.py"))["DRAWINGS"]
    for name, make in drawings.items():
        assert (ROOT / "docs" / "img" / f"{name}.svg").read_text() == make().svg()
