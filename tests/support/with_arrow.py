"""The fixture of tests of CSV: pyarrow is used where it is installed, so each test runs with it and without."""

import pytest

from pipeline.decode.csv import numbers


@pytest.fixture(scope="module", params=["arrow", "alone"], autouse=True)
def arrow(request):
    """With pyarrow and without."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "arrow":
            pytest.importorskip("pyarrow", exc_type=ImportError)  # also one that wants a newer NumPy
        else:
            patch.setattr(numbers, "_pyarrow", lambda: None)
        yield request.param
