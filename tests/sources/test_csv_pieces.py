"""Pieces of CSV files are decoded as a whole, however few of their rows are wanted at a time."""

import threading

import numpy as np
import pytest

import pipeline
from pipeline.sources import csv


def write(path, rows, change=str):
    lines = [f"{i},{i / 4},t{i}" for i in range(rows)]
    path.write_text("\n".join(["n,quarter,text", *map(change, lines)]) + "\n")
    return pipeline.csv(str(path), dtypes={"n": "int64", "quarter": "float64", "text": "str"})


def expect(batch, first, count):
    assert batch["n"].tolist() == list(range(first, first + count))
    assert batch["quarter"].tolist() == [i / 4 for i in range(first, first + count)]
    assert batch["text"].tolist() == [b"t%d" % i for i in range(first, first + count)]


@pytest.mark.parametrize("num_threads", [0, 1])
def test_a_piece_is_decoded_once(tmp_path, monkeypatch, num_threads):
    source, calls, decode_block = write(tmp_path / "a.csv", 1000), [], csv.decode_block
    monkeypatch.setattr(csv, "decode_block", lambda *given: calls.append(given) or decode_block(*given))
    for i, batch in enumerate(pipeline.batch(source, 10, num_threads=num_threads)):
        expect(batch, 10 * i, 10)
    assert (i, len(calls)) == (99, 1)


def test_rows_before_a_wrong_one_come_first(tmp_path):
    source = write(tmp_path / "a.csv", 1000, lambda line: line.replace("777,", "x,", 1))
    batches = pipeline.batch(source, 10, num_threads=0, capacity=10)
    for i in range(77):
        expect(next(batches), 10 * i, 10)
    with pytest.raises(pipeline.errors.InvalidArgumentError, match=r"a\.csv, line 779: column 'n'") as caught:
        next(batches)
    assert caught.value.record_key.endswith(b"a.csv:779")


def test_wrong_rows_alone_are_left_out(tmp_path):
    source = write(tmp_path / "a.csv", 1000, lambda line: "x" + line if line.startswith("77") else line)
    batches = pipeline.batch(source, 10, on_error="skip", allow_smaller_final_batch=True)
    found = np.concatenate([batch["n"] for batch in batches])
    assert found.tolist() == [i for i in range(1000) if not str(i).startswith("77")]


def test_threads_take_rows_of_a_piece_at_once(tmp_path):
    cursor, found = write(tmp_path / "a.csv", 30_000).cursor(), []

    def take():
        try:
            while True:
                found.append(cursor.block(7))
        except pipeline.errors.OutOfRangeError:
            pass

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for block in found:
        expect(block, int(block["n"][0]), len(block["n"]))
    assert sorted(np.concatenate([block["n"] for block in found]).tolist()) == list(range(30_000))


def test_a_loop_goes_on_in_the_middle_of_a_piece(tmp_path):
    source = write(tmp_path / "a.csv", 1000)
    batches = pipeline.batch(source, 10, deterministic=True)
    for _ in range(33):
        next(batches)
    state = batches.state_dict()
    others = pipeline.batch(source, 10, deterministic=True)
    others.load_state_dict(state)
    for i, batch in enumerate(others, 33):
        expect(batch, 10 * i, 10)
    assert i == 99
