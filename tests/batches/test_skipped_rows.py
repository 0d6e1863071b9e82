"""on_error="skip" with blocks: the bad row is left out, the others stay, and the error says where it was."""

import sys

import numpy as np
import pytest
from orchestration import fresh_collection, no_thread_left

import pipeline
from pipeline import batch


@pytest.fixture(autouse=True)
def _fresh():
    with fresh_collection(), no_thread_left():
        yield


@pytest.fixture
def path(tmp_path):
    lines = [f"{i},{i * i}" for i in range(1, 21)]
    lines[6], lines[19] = "7,seven", "20"
    file = tmp_path / "rows.csv"
    file.write_text("\n".join(lines))
    return str(file)


def blocks(path, rows, decode=lambda lines: pipeline.decode_csv(lines, [np.int32, np.int32])):
    files = pipeline.string_input_producer([path], num_epochs=1)
    reader = pipeline.TextLineReader()
    return lambda: decode(reader.read_up_to(files, rows).values)


GOOD = [i for i in range(1, 20) if i != 7]


@pytest.mark.parametrize("rows", [1, 4, 7, 100])
@pytest.mark.parametrize("threads", [0, 1, 3])
def test_only_the_bad_rows_of_a_block_are_left_out(path, rows, threads):
    with batch(blocks(path, rows), 18, threads, enqueue_many=True, on_error="skip") as loop:
        [[first, second]] = loop
    order = np.argsort(first)
    assert first[order].tolist() == GOOD
    assert second[order].tolist() == [i * i for i in GOOD]
    assert threads > 1 or first.tolist() == GOOD
    assert loop.num_errors == 2
    assert sorted(error.record_key for error in loop.errors) == [f"{path}:{i}".encode() for i in (20, 7)]
    if sys.version_info >= (3, 11):
        assert f"in record '{path}:7'" in [note for error in loop.errors for note in error.__notes__]


def test_rows_that_the_queue_does_not_take(path):
    def decode(lines):
        return [[line.split(b",")[1] if line.startswith(b"7") else 1 for line in lines]]

    with batch(blocks(path, 5, decode), 19, enqueue_many=True, on_error="skip") as loop:
        assert [part.tolist() for part in loop] == [[1] * 19]
    [error] = loop.errors
    assert isinstance(error, TypeError)
    assert error.record_key == f"{path}:7".encode()


@pytest.mark.parametrize("container", [list, dict])
def test_rows_of_blocks_that_nobody_read(container):
    def rows(values):
        return [values] if container is list else {"x": values}

    given = [rows([1, 2]), rows([3, "x", 5]), rows([6])]
    with batch(given, 5, enqueue_many=True, on_error="skip", shapes=[()]) as loop:
        [part] = loop
    assert (part["x"] if container is dict else part).tolist() == [1, 2, 3, 5, 6]
    assert loop.num_errors == 1


def test_as_many_errors_as_bad_rows(path):
    loop = batch(blocks(path, 100), 5, enqueue_many=True, on_error="skip", max_errors=1)
    with pytest.raises(pipeline.InvalidArgumentError, match="record 0"):
        list(loop)


def test_all_records_of_one_example_go_together(path):
    """An example of several records is not a block: its records do not come again."""

    def pair(lines):
        first, _ = pipeline.decode_csv(lines, [np.int32, np.int32])
        return first

    with batch(blocks(path, 2, pair), 8, on_error="skip") as loop:
        [part] = loop
    assert part[:, 0].tolist() == [1, 3, 5, 9, 11, 13, 15, 17]
    assert [error.record_key for error in loop.errors] == [f"{path}:7".encode(), f"{path}:19".encode()]


def test_records_that_come_again_are_not_counted_again(path):
    files = pipeline.FIFOQueue(1, bytes, [()])
    files.enqueue(path)
    reader = pipeline.TextLineReader()
    reader.give_again([b"a:1", b"a:2"], [b"x", b"y"])
    assert reader.read(files) == (b"a:1", b"x")
    assert reader.read_up_to(files, 9).keys == [b"a:2"]
    assert reader.num_records_produced() == 0
    reader.give_again([b"a:1"], [b"x"])
    reader.reset()
    assert reader.read(files).key == f"{path}:1".encode()


def test_a_reader_says_what_it_is(path):
    reader = pipeline.TextLineReader(name="lines")
    assert repr(reader) == "<TextLineReader 'lines': 0 records read>"
    files = pipeline.FIFOQueue(1, bytes, [()])
    files.enqueue(path)
    reader.read_up_to(files, 3)
    assert repr(reader) == "<TextLineReader 'lines': 3 records read>"
