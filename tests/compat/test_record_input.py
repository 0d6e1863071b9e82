"""RecordInput: all records in all files, each once per epoch, in an order fixed by the seed."""

import pytest

import pipeline.compat.v1 as tf


@pytest.fixture
def pattern(tmp_path):
    pytest.importorskip("google_crc32c")
    for i in range(3):
        with tf.python_io.TFRecordWriter(str(tmp_path / f"file{i}")) as writer:
            for j in range(4):
                writer.write(b"%d-%d" % (i, j))
    return str(tmp_path / "file*")


def batches(count, pattern, **arguments):
    with tf.Graph().as_default(), tf.Session() as sess:
        records = tf.RecordInput(pattern, **arguments).get_yield_op()
        return [sess.run(records).tolist() for _ in range(count)]


def test_each_epoch_has_each_record_once(pattern):
    found = [each for batch in batches(8, pattern, batch_size=3, buffer_size=5, parallelism=2) for each in batch]
    assert len(set(found[:12])) == 12
    assert sorted(found[:12]) == sorted(found[12:])
    assert found[:12] != found[12:]


def test_the_seed_decides(pattern):
    first = batches(4, pattern, batch_size=3, buffer_size=12, seed=1)
    assert first == batches(4, pattern, batch_size=3, buffer_size=12, seed=1)
    assert first != batches(4, pattern, batch_size=3, buffer_size=12, seed=2)


def test_batches_are_lists_of_scalars(pattern):
    with tf.Graph().as_default(), tf.Session() as sess:
        found = tf.RecordInput(pattern, batch_size=2, batches=3, name="ri").get_yield_op()
        assert [[each.shape.as_list() for each in batch] for batch in found] == [[[], []]] * 3
        values = sess.run(found)
    assert len({each for batch in values for each in batch}) == 6


def test_no_files(tmp_path):
    with pytest.raises(tf.errors.NotFoundError, match="Found no files at"):
        batches(1, str(tmp_path / "none*"))
