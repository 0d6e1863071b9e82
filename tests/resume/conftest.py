import pytest
import resumable


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """The files read by the loops in `resumable`."""
    folder = tmp_path_factory.mktemp("input")
    resumable.write_files(folder)
    return folder
