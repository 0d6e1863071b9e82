"""Functions and classes that processes cannot import: lambdas, closures, and notebook code."""

import re
import sys
import textwrap

import numpy as np
import pytest

import pipeline

pytest.importorskip("cloudpickle", reason="cloudpickle is not installed")


@pytest.fixture(scope="module")
def pool():
    with pipeline.processes(2) as made:
        yield made


def test_a_lambda(pool):
    assert list(pipeline.dataset(range(9)).map(lambda i: i * i, workers=pool)) == [i * i for i in range(9)]


def test_a_closure(pool):
    table = np.arange(100) * 3

    def looked_up(i):
        return int(table[i]) + len(helper(i))

    def helper(i):
        return [i] * i

    assert list(pipeline.dataset(range(9)).map(looked_up, workers=pool)) == [4 * i for i in range(9)]


def test_an_error_of_a_class_that_only_this_function_knows(pool):
    class OwnError(Exception):
        pass

    def fail(i):
        raise OwnError(i)

    with pytest.raises(OwnError, match="fail: example 0" if sys.version_info >= (3, 11) else "^0$"):
        list(pipeline.dataset(range(9)).map(fail, workers=pool))


def test_setup_and_a_flat_map_and_a_resume():
    workers = pipeline.processes(2, setup=lambda: None)
    data = pipeline.dataset(range(9)).flat_map(lambda i: [i, -i], workers=workers)
    found = iter(data)
    first = [next(found) for _ in range(5)]
    state = found.state_dict()
    again = iter(data)
    again.load_state_dict(state)
    assert [*first, *again] == [sign * i for i in range(9) for sign in (1, -1)]


class Kernel:
    """A Jupyter kernel running cells."""

    def __init__(self, manager):
        self._manager = manager
        manager.start_kernel()
        self._client = manager.client()
        self._client.start_channels()
        self._client.wait_for_ready(timeout=120)

    def run(self, cell, interrupt_at=None):
        """Run a cell and return its output, including errors. Interrupt it once it has printed a given text."""
        self._client.execute(textwrap.dedent(cell))
        printed = ""
        while True:
            message = self._client.get_iopub_msg(timeout=120)
            kind, content = message["msg_type"], message["content"]
            if kind == "stream":
                printed += content["text"]
                if interrupt_at is not None and interrupt_at in printed:
                    interrupt_at = None
                    self._manager.interrupt_kernel()
            elif kind == "error":
                printed += re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(content["traceback"]))
            elif kind == "status" and content["execution_state"] == "idle":
                return printed

    def close(self):
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=True)


@pytest.fixture(scope="module")
def kernel():
    client = pytest.importorskip("jupyter_client", reason="jupyter_client is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    made = Kernel(client.KernelManager(kernel_name="python3"))
    yield made
    made.close()


@pytest.mark.filterwarnings("default")  # jupyter_client's and zmq's own warnings are no errors
class TestNotebooks:
    def test_functions_and_classes_of_cells(self, kernel):
        kernel.run(
            """
            import dataclasses
            import numpy as np
            import pipeline

            FACTOR = 3

            @dataclasses.dataclass
            class Point:
                x: int

            def moved(point):
                return Point(np.int64(point.x * FACTOR))
            """
        )
        run = """
            points = pipeline.dataset([Point(i) for i in range(5)])
            print([point.x + 0 for point in points.map(moved, workers=pipeline.processes(2)).map(lambda p: p)])
            print({type(point) is Point for point in points.map(moved, workers=pipeline.processes(2))})
            """
        assert kernel.run(run).replace("np.int64", "") == "[(0), (3), (6), (9), (12)]\n{True}\n"
        kernel.run("FACTOR = 10")  # a cell changed and run again takes effect
        assert "(40)" in kernel.run(run)

    def test_a_cell_that_is_interrupted_and_run_again_leaves_nothing(self, kernel):
        kernel.run(
            """
            import gc, threading, time
            import numpy as np
            import pipeline

            def large(i):
                return np.full(1 << 20, i % 100, np.uint8)

            def megabytes():
                deadline = time.monotonic() + 60
                while threading.active_count() > threads and time.monotonic() < deadline:
                    gc.collect()
                    time.sleep(0.01)
                assert threading.active_count() <= threads, threading.enumerate()
                (line,) = [line for line in open("/proc/self/status") if line.startswith("VmRSS")]
                return int(line.split()[1]) >> 10

            threads = threading.active_count()
            """
        )
        cell = """
            data = pipeline.dataset(range(10**6)).map(large, workers=pipeline.processes(2))
            for number, batch in enumerate(data.batch(16).prefetch(2)):
                if number == 3:
                    print("begun", flush=True)
            """
        seen = []
        for _ in range(12):
            assert "KeyboardInterrupt" in kernel.run(cell, interrupt_at="begun")
            kernel.run("1 / 0")  # the last error's traceback refers to the cell's objects
            seen.append(int(kernel.run("print(megabytes())")))
        assert max(seen[2:]) <= seen[1] + 150, seen
