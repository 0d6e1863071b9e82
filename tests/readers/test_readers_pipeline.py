"""Readers between a queue of files and a batch queue."""

import pytest
from orchestration import fresh_collection, no_thread_left

import pipeline
from pipeline import Coordinator, FIFOQueue, QueueRunner, string_input_producer
from pipeline.errors import DataLossError, NotFoundError, OutOfRangeError
from pipeline.files.tfrecord_writer import TFRecordWriter
from pipeline.readers.text import TextLineReader
from pipeline.readers.tfrecord import TFRecordReader


@pytest.fixture(autouse=True)
def _files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in "ac":
        (tmp_path / name).write_bytes(b"".join(b"%s%d\n" % (name.encode(), i) for i in range(3)))
    with fresh_collection(), no_thread_left():
        yield


def start(names, reader, threads=1, epochs=1):
    """Return a coordinator and the record queue, filled by threads."""
    files = string_input_producer(list(names), num_epochs=epochs, shuffle=False)
    queue = FIFOQueue(64, "string", [()])
    pipeline.add_queue_runner(QueueRunner(queue, [lambda: queue.enqueue(reader.read(files).value)] * threads))
    coord = Coordinator()
    pipeline.start_queue_runners(coord=coord)
    return coord, queue


def test_batches_in_the_order_of_the_files_until_the_epochs_end():
    coord, queue = start("ac", TextLineReader(), epochs=2)
    batches = [queue.dequeue_many(4) for _ in range(3)]
    assert b" ".join(b for batch in batches for b in batch) == b" ".join([b"a0 a1 a2 c0 c1 c2"] * 2)
    with pytest.raises(OutOfRangeError):
        queue.dequeue_many(4)
    assert not coord.should_stop()
    coord.request_stop()
    coord.join()


def test_missing_file_gives_what_came_before_and_stops_the_threads():
    coord, queue = start(["a", "missing", "c"], TextLineReader())
    assert list(queue.dequeue_many(3)) == [b"a0", b"a1", b"a2"]
    with pytest.raises(OutOfRangeError) as caught:
        queue.dequeue()
    assert isinstance(caught.value.__cause__, NotFoundError)
    assert "NotFoundError: missing; No such file or directory" in str(caught.value)
    with pytest.raises(NotFoundError, match="missing; No such file or directory"):
        coord.join()


def test_missing_file_that_is_skipped_changes_nothing():
    reader = TextLineReader(on_error="skip")
    coord, queue = start(["a", "missing", "c"], reader)
    assert list(queue.dequeue_many(6)) == [b"a0", b"a1", b"a2", b"c0", b"c1", b"c2"]
    with pytest.raises(OutOfRangeError):
        queue.dequeue()
    coord.request_stop()
    coord.join()
    assert reader.num_errors == 1


def test_corrupt_record_is_named_to_the_consumer():
    with TFRecordWriter("r") as writer:
        for i in range(5):
            writer.write(b"%d" % i)
    with open("r", "r+b") as file:
        file.seek(17 * 3 + 12)
        file.write(b"x")
    coord, queue = start(["r"], TFRecordReader())
    assert list(queue.dequeue_many(3)) == [b"0", b"1", b"2"]
    with pytest.raises(OutOfRangeError, match=r"record 'r:51'"):
        queue.dequeue()
    with pytest.raises(DataLossError, match="corrupted record at 63 of r"):
        coord.join()


def test_stop_in_the_middle_of_an_endless_input():
    coord, queue = start("ac", TextLineReader(), threads=3, epochs=None)
    assert len(queue.dequeue_many(500)) == 500
    coord.request_stop()
    coord.join()
    queue.dequeue_many(queue.size())
    with pytest.raises(OutOfRangeError):
        queue.dequeue()
