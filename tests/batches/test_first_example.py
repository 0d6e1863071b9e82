"""An error of the first example, which the consumer's thread reads, names its record as those of later ones do."""

import sys

import numpy as np
import pytest
from orchestration import fresh_collection, no_thread_left

import pipeline
from pipeline import TextLineReader, batch, batch_join
from pipeline.explain.workers import this_thread

notes = pytest.mark.skipif(sys.version_info < (3, 11), reason="notes of exceptions came with Python 3.11")


@pytest.fixture(autouse=True)
def _fresh():
    with fresh_collection(), no_thread_left():
        yield


@pytest.fixture
def path(tmp_path):
    """A file of ten numbers; those of the lines in `bad` are none."""
    file = tmp_path / "f"

    def write(*bad):
        file.write_text("".join("x\n" if i in bad else f"{i}\n" for i in range(1, 11)))
        return file

    return write


def reading(path, records=None):
    """Reads a number, or a block of at most this many."""
    reader, files = TextLineReader(), pipeline.string_input_producer([str(path)], num_epochs=1)

    def example():
        if records is None:
            return int(reader.read(files).value)
        return np.array(list(map(int, reader.read_up_to(files, records).values)))

    return example


def of_error(loop):
    """The notes of the ValueError that the loop raises."""
    with pytest.raises(ValueError, match="invalid literal") as caught:
        list(loop)
    return getattr(caught.value, "__notes__", [])


@notes
@pytest.mark.parametrize("threads", [0, 1, 2])
def test_a_callable(path, threads):
    assert of_error(batch(reading(file := path(1)), 2, num_threads=threads)) == [
        f"in the first example, record '{file}:1'"
    ]


@notes
def test_a_later_example_of_the_same_file(path):
    [note] = of_error(batch(reading(file := path(3)), 1))
    assert note == f"in 'example' of 'batch', record '{file}:3'"


@notes
def test_a_generator_and_a_join(path):
    def numbers():
        take = reading(file)
        while True:
            yield take()

    file = path(1)
    note = f"in the first example, record '{file}:1'"
    assert of_error(batch(numbers, 2)) == [note]
    assert of_error(batch_join([reading(file), reading(file)], 2)) == [note]


@notes
def test_a_block(path):
    [note] = of_error(batch(reading(file := path(2), records=4), 2, enqueue_many=True))
    assert note == f"in the first example, records '{file}:1' to '{file}:4'"


@notes
def test_a_loop_over_a_loop_names_it_once(path):
    inner = batch(reading(file := path(1)), 1)
    assert of_error(batch(inner, 2)) == [f"in the first example, record '{file}:1'"]


@notes
def test_an_example_that_asks_another_loop_for_its_first_one(path):
    """What was read before is still known after the other loop has read its first example."""
    other, take = batch([7], 1), reading(file := path(), records=1)

    def example():
        take()
        next(other)
        return int("x")

    assert of_error(batch(example, 2)) == [f"in the first example, record '{file}:1'"]
    other.close()


def test_a_first_example_that_cannot_be_stored(path):
    """It is read by the consumer and stored by a thread, which knows the record none the less."""
    reader, files = TextLineReader(), pipeline.string_input_producer([str(file := path())], num_epochs=1)

    def example():
        return np.zeros(3 if reader.read(files).key.endswith(b":1") else 2)

    loop = batch(example, 2, shapes=[(2,)], on_error="skip")
    assert sum(map(len, loop)) == 8
    assert [error.record_key for error in loop.errors] == [f"{file}:1".encode()]


@notes
def test_a_first_example_that_cannot_be_stored_ends_the_loop(path):
    reader, files = TextLineReader(), pipeline.string_input_producer([str(file := path())], num_epochs=1)
    with pytest.raises(ValueError, match="Expected") as caught:
        next(batch(lambda: np.zeros(len(reader.read(files))), 2, shapes=[(3,)]))
    assert caught.value.__notes__ == [f"in '<lambda>' of 'batch', record '{file}:1'"]


def test_a_first_block_that_cannot_be_stored_leaves_out_its_bad_rows_only(path):
    reader, files = TextLineReader(), pipeline.string_input_producer([str(file := path(2))], num_epochs=1)

    def block():
        values = reader.read_up_to(files, 4).values
        return np.zeros((len(values), 3 if b"x" in values else 2))

    loop = batch(block, 3, shapes=[(2,)], enqueue_many=True, on_error="skip")
    assert sum(map(len, loop)) == 9
    assert [error.record_key for error in loop.errors] == [f"{file}:2".encode()]


@pytest.mark.parametrize("records", [None, 4])
def test_skipped_from_the_first_one_on(path, records):
    loop = batch(reading(file := path(1, 2), records), 2, enqueue_many=records is not None, on_error="skip")
    assert np.concatenate(list(loop)).tolist() == list(range(3, 11))
    assert [error.record_key for error in loop.errors] == [f"{file}:{i}".encode() for i in (1, 2)]


def test_nothing_is_noted_after_the_first_example(path):
    loop = batch(reading(path()), 2)
    next(loop)
    assert this_thread.reads is None
    loop.close()
