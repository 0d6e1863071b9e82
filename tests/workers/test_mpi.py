"""Worker processes in a program started by mpiexec: they are not ranks in its job, and never become ranks."""

import os
import subprocess
import sys

import pytest
from helpers import LIMIT

HEAD = """
import os
import sys
import pipeline

def initialized(x):
    if "mpi4py" not in sys.modules:
        return os.environ.get("MPI4PY_RC_INITIALIZE", "unset")
    return str(MPI.Is_initialized())

"""
MAIN = """
if __name__ == "__main__":
    data = pipeline.dataset([1, 2]).map(initialized, workers=pipeline.processes(1, method=sys.argv[1]))
    print(*data, os.environ.get("MPI4PY_RC_INITIALIZE", "unset"), flush=True)
"""
STARTS = pytest.mark.parametrize("method", ["forkserver", "spawn"])


def run(tmp_path, program, method, launcher=(), **environment):
    path = tmp_path / "program.py"
    path.write_text(program)
    # Unbuffered ranks would print the words of a line one by one, between those of other ranks.
    others = ("PMI", "OMPI", "MPI4PY", "PYTHONUNBUFFERED")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(others)}
    environment = {**kept, "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    command = [*launcher, sys.executable, path, method]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=LIMIT, check=False, cwd=tmp_path
    )


@STARTS
@pytest.mark.parametrize("rank", ["PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK"])
def test_workers_are_told_not_to_initialize(tmp_path, method, rank):
    assert run(tmp_path, HEAD + MAIN, method, **{rank: "0"}).stdout == "0 0 unset\n"


@STARTS
def test_what_the_user_has_set_counts(tmp_path, method):
    found = run(tmp_path, HEAD + MAIN, method, PMI_RANK="0", MPI4PY_RC_INITIALIZE="1")
    assert found.stdout == "1 1 1\n"


@STARTS
def test_without_a_launcher_nothing_is_set(tmp_path, method):
    assert run(tmp_path, HEAD + MAIN, method).stdout == "unset unset unset\n"


@STARTS
@pytest.mark.parametrize("rank", [{}, {"PMI_RANK": "0"}], ids=["alone", "launched"])
def test_the_error_names_mpi_only_under_a_launcher(tmp_path, method, rank):
    dies = 'if __name__ != "__main__":\n    os._exit(3)\n'
    found = run(tmp_path, HEAD + dies + MAIN, method, **rank)
    assert "a worker process ended with exit status 3 while it started" in found.stderr
    assert ("workers are not part of its MPI job" in found.stderr) == bool(rank)


class TestJob:
    """Two ranks in a real job."""

    @pytest.fixture(autouse=True)
    def _launcher(self):
        pytest.importorskip("mpi4py")
        self.mpiexec = os.path.join(os.path.dirname(sys.executable), "mpiexec")
        if not os.path.exists(self.mpiexec):
            pytest.skip("there is no mpiexec")

    def job(self, tmp_path, program, method):
        return run(tmp_path, program, method, (self.mpiexec, "-n", "2"))

    @pytest.mark.parametrize("method", ["forkserver", "spawn", "fork"])
    def test_mpi_is_imported_first(self, tmp_path, method):
        found = self.job(tmp_path, "from mpi4py import MPI\n" + HEAD + MAIN, method)
        expected = "True True unset" if method == "fork" else "False False unset"
        assert (found.stdout.splitlines(), found.returncode) == ([expected] * 2, 0), found.stderr

    @pytest.mark.parametrize("method", ["forkserver", "spawn", "fork"])
    def test_mpi_is_imported_last(self, tmp_path, method):
        program = HEAD + MAIN + "    from mpi4py import MPI\n    print(MPI.COMM_WORLD.allreduce(1))\n"
        found = self.job(tmp_path, program, method)
        assert sorted(found.stdout.splitlines()) == ["0 0 unset"] * 2 + ["2"] * 2, found.stderr

    @STARTS
    def test_a_rank_that_the_program_takes_at_import(self, tmp_path, method):
        """No worker has a wrong rank: it ends, and the error names the right place for MPI calls."""
        found = self.job(tmp_path, "from mpi4py import MPI\nrank = MPI.COMM_WORLD.rank\n" + HEAD + MAIN, method)
        assert found.returncode
        assert "calls of MPI belong under that line too" in found.stderr
