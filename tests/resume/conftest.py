import pytest
import resumable


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """The files that the loops of `resumable` read."""
    folder = tmp_path_factory.mktemp("input")
    resumable.write_files(folder)
    return folder
