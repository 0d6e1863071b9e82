"""No call to the compiled modules ends the process, with any arguments: each raises or returns."""

from pathlib import Path

from helpers import run_script

FOLDER = Path(__file__).parents[1] / "fuzz"
HEAD = """
import tempfile
import numpy as np
import pipeline
from pipeline import FIFOQueue
from pipeline._batch import MappedMemory, read_rows
from pipeline._csv import CsvTable
from pipeline._queue import Engine, FORMS, ORDERS
from pipeline._block import Block, Columns, Examples, finished, mix_numbers, mix_outputs, mix_pairs, spread
from pipeline._calls import Draw, Kept, call_each, items_at, pump
from pipeline._meter import Meter, Metered, MeteredIndex
from pipeline._rows import Gatherer, RowSlots
from pipeline.queues.rows import Rows

whole = np.dtype(np.int64)

class Idle:
    outlet = None
    def _convert(self, values, many): return self.values
    def _outputs(self, out): return ()
    def _count(self, n, call): return -5

class Careless(Idle, FIFOQueue):
    pass

def slots(rows=[np.zeros((4, 2))]):
    made = RowSlots([np.zeros((1, 2))])
    made.put(rows)
    return made

def objects():
    made = RowSlots([np.array([b"a"], object)])
    return made, made.put([np.array([b"a", b"b"], object)])

def engine(component, order="fifo", capacity=5, min_after_dequeue=0):
    made = Engine()
    made._open(ORDERS[order], capacity, min_after_dequeue, 1, 2, True)
    made._configure([component])
    made.enqueue_many(np.zeros((3, 2), np.int64), timeout=0)
    made.enqueue(np.int64(1), timeout=0)

def rows(array=np.arange(9), numbers=np.arange(3)):
    made = Rows(np.arange(9), np.arange(3))
    made.array, made.numbers = array, numbers
    FIFOQueue(5, np.int64, [()]).enqueue_many((made,), timeout=0)

def careless(values=None, dtypes=[object]):
    made = Careless(5, dtypes, [()] * len(dtypes))
    made.values = values
    return made

def table(arrays, defaults=[None], lines=(b"1",) * 1000000, first=0):
    CsvTable(arrays, defaults, b",", True, b"", True).fill(lines, first)

def mapped():
    with tempfile.TemporaryFile() as file:
        bytes(memoryview(MappedMemory(file.fileno(), 8192)))
"""
CALLS = {
    "Gatherer": [
        *["Gatherer((np.arange(3),)).take(np.array([0, 10**9]))", "Gatherer((np.arange(3),)).take(np.array([-1]))"],
        *["Gatherer((np.arange(3),)).runs(np.array([2]), 2)", "Gatherer((np.arange(3),)).runs(np.array([0]), -1)"],
        *["Gatherer(None)", "Gatherer(())", "Gatherer((None,))", "Gatherer((np.arange(3), np.arange(2)))"],
        *["Gatherer((np.arange(3),)).take(None)", "Gatherer((np.array(3),))", "Gatherer((np.arange(6)[::2],))"],
    ],
    "RowSlots": [
        *["RowSlots(None)", "RowSlots([None])", "RowSlots([np.array(1)])", "slots(None)", "slots([None])"],
        *["slots().take(np.array([4]))", "slots().take(np.array([-1]))", "slots().take(np.array([0, 0, 1, 2, 3]))"],
        *["slots().take(None)", "slots().take([0])", "slots().change([np.zeros(2)])", "slots().change([None])"],
        *["objects()[0].take(np.array([0, 1, 1]))"],
    ],
    "Columns": [
        *["Columns(None, 3)", "Columns([], 3).first()", "Columns([None], 3).first()"],
        *["Columns([np.arange(3)], 9)[5:7].first()", "Columns([np.zeros((3, 2))], 9)[5:7].first()"],
        *[],
        *["Columns([np.arange(3)], 3).picked(np.array([7]))"],
        *["Columns([np.arange(3)], 3, object()).first()", "Columns([np.arange(3)], 3).packed(None)"],
        *[
            "finished(None, False, list)",
            "finished(Columns([None], 1), False, None)",
            "finished(Columns([[1]], 1), 0, 1)",
        ],
    ],
    "Block": [
        *[
            "Block(None, None)",
            "Block(None, np.array(1))",
            "len(Block(None, np.array(1)))",
            "Block(0, np.arange(3)).part(0, 1)",
        ],
        *["Block(Examples([]), np.zeros(3)).renumbered(1)"],
        *["Block(Examples([]), np.arange(3)).named(5)", "Block(0, np.arange(3), sizes=None).size_in_all()"],
        *["Block(0, np.arange(0), sizes=np.arange(0)).first_size()", "Examples(None)", "Examples([]).first()"],
    ],
    "numbers": [
        *["mix_numbers(None, 0)", "mix_numbers(np.arange(3), -1)", "mix_pairs(np.arange(3), np.arange(2))"],
        *["spread(None, 3)", "mix_numbers(np.zeros(3), 0)"],
    ],
    "Metered": [
        *["Metered(None, None, None)", "Metered(object(), Meter(), None)", "MeteredIndex(None, Meter())"],
        *["MeteredIndex(5, None)"],
    ],
    "Kept": ["pump(None, 3, Kept(3, None, np.empty))", "pump(iter([1]), 3, None)"],
    "call_each": [
        "call_each(len, [1, 2], 0, np.arange(1), None, None, None, 9, Kept(2, None, np.empty))",
        "call_each(len, None, 0, np.arange(1), None, None, None, 1, Kept(2, None, np.empty))",
        "call_each(abs, [1], 7, np.arange(1), Draw(1, 2, 0), None, None, 1, None)",
    ],
    "items_at": ["items_at([1], np.array([5]))", "items_at(None, np.arange(1))", "items_at([1], None)"],
    "Engine._rows_of": ["Engine()._rows_of(5, 1)", "FIFOQueue(5, np.int64, [()])._rows_of(10**6, np.arange(3))"],
    "Engine._enqueue_given": ["careless()._enqueue_given(None)"],
    "Engine._open": ["Engine()._open(77, 5, 0, 1, 2, True)", "engine((whole, 0, ()), 'lockstep', 5, 2**64 - 1)"],
    "Engine._configure": [
        *[
            "engine((np.dtype(object), 0, ()))",
            "engine((5, 0, ()))",
            "engine((whole, 0, (-1,)))",
            "engine((whole, 0, None))",
        ],
        *[
            "engine((whole, 9, ()))",
            "engine((whole, 0, (1 << 32, 1 << 32)))",
            "engine((np.dtype(object), 2, ()), 'priority')",
        ],
    ],
    "Rows": ["rows(None)", "rows(numbers=None)", "rows(numbers=np.array(1))", "rows(numbers=np.zeros(10**6, np.int8))"],
    "Queue._convert": [
        "careless().enqueue_many('x')",
        "careless((5,)).enqueue_many('x')",
        "careless((5,))._give_back('x')",
    ],
    "Queue._outputs": ["careless(dtypes=[np.int64] * 2).dequeue_many(2, out=(1, 2))", "careless().dequeue_many('x')"],
    "CsvTable": [
        "table(None)",
        "table([np.zeros(3)] * 99, [])",
        "table([np.zeros(1)])",
        "table([np.zeros(1, object)])",
    ],
    "CsvTable's arrays": [
        "table([np.broadcast_to(0.0, 10**6)])",
        "table([np.zeros(20)[::2]])",
        "table([np.zeros(3)], [np.int8(3)])",
    ],
    "CsvTable.fill": ["table([np.zeros(3)], lines=(b'1',), first=-10**9)", "table([np.zeros(3)], lines=None)"],
    "MappedMemory": ["mapped()"],
    "read_rows": [
        *[f"read_rows({file}, 0, np.arange(3), np.zeros(24, np.uint8))" for file in (-1, 10**5)],
        *[
            f"read_rows(1, 0, {numbers}, np.zeros(24, np.uint8))"
            for numbers in ("np.arange(0)", "np.arange(5)", "None")
        ],
        "read_rows(1, -100, np.arange(3), np.zeros(24, np.uint8))",
        "read_rows(1, 2**63 - 1, np.arange(3) - 2**62, np.zeros(24, np.uint8))",
    ],
}


def test_an_odd_call_raises():
    """Each runs in its own process, so that the report names all crashing calls."""
    done = run_script(f"""{HEAD}
import os
import signal

for call in {[call for calls in CALLS.values() for call in calls]}:
    child = os.fork()
    if child == 0:
        signal.alarm(120)
        try:
            eval(call)
        except Exception:
            os._exit(0)
        os._exit(1)
    status = os.waitpid(child, 0)[1]
    if status:
        print(call, "ended with the status", status)
""")
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


def test_what_is_no_record_is_read_by_no_table():
    done = run_script(
        HEAD
        + """
numbers = np.zeros(3)
table = CsvTable([numbers], [None], b",", True, b"", True)
assert table.fill((b"1", None, b"3"), 0) == 1
assert table.fill((b"1", 5, b"3"), 2) == 3
assert numbers.tolist() == [1, 0, 3]
"""
    )
    assert done.returncode == 0, done.stderr


def test_random_calls():
    done = run_script(f"import sys; sys.path.append({str(FOLDER)!r}); from odd_calls import main; main(0, 6, 200)")
    assert done.returncode == 0, "\n".join(done.stdout.splitlines()[-3:]) + done.stderr
