"""Readers in graph mode: skipped errors, waits that end, and threads."""

import gc
import itertools

import pytest
from graph_pipelines import closed_queue, drain, graph_session, running  # noqa: F401  (a fixture)
from helpers import run_in_thread

import pipeline.compat.v1 as tf
from pipeline.files.tfrecord_writer import TFRecordWriter

READERS = {
    "lines": lambda **options: tf.TextLineReader(**options),
    "whole": lambda **options: tf.WholeFileReader(**options),
    "fixed": lambda **options: tf.FixedLengthRecordReader(2, **options),
    "identity": lambda **options: tf.IdentityReader(**options),
    "records": lambda **options: tf.TFRecordReader(**options),
}


@pytest.fixture
def paths(tmp_path):
    """Write three files with four lines each."""
    made = []
    for name in "abc":
        made.append(tmp_path / name)
        made[-1].write_text("".join(f"{name}{i}\n" for i in range(4)))
    return made


def test_a_reader_says_what_it_is(sess):
    assert repr(tf.TextLineReader(name="lines")) == "<TextLineReader 'lines'>"


def test_negative_number_of_records(sess, paths):
    reader = tf.TextLineReader()
    with pytest.raises(tf.errors.InvalidArgumentError, match="num_records must be >= 0 not -1"):
        sess.run(reader.read_up_to(closed_queue(sess, paths), -1))


def test_missing_files_are_skipped_if_asked_for(sess, paths):
    queue = closed_queue(sess, [paths[0].parent / "none", paths[0], paths[0].parent / "none", paths[1]])
    reader = tf.TextLineReader(on_error="skip")
    assert drain(sess, reader.read(queue).value) == [b"a0", b"a1", b"a2", b"a3", b"b0", b"b1", b"b2", b"b3"]
    assert sess.run(reader.num_errors()) == 2


def test_whole_files_that_are_missing_are_skipped_if_asked_for(sess, paths):
    queue = closed_queue(sess, [paths[0].parent / "none", paths[0]])
    assert len(drain(sess, tf.WholeFileReader(on_error="skip").read(queue))) == 1


def test_too_many_errors_are_raised(sess, paths):
    queue = closed_queue(sess, [paths[0].parent / "none"] * 3)
    reader = tf.TextLineReader(on_error="skip", max_errors=2)
    with pytest.raises(tf.errors.NotFoundError):
        sess.run(reader.read(queue))


def test_corrupt_records_are_skipped_if_asked_for(sess, tmp_path):
    for name in ("good", "bad"):
        with TFRecordWriter(tmp_path / name) as writer:
            for i in range(3):
                writer.write(f"{name}{i}".encode())
    content = bytearray((tmp_path / "bad").read_bytes())
    content[40] ^= 1
    (tmp_path / "bad").write_bytes(content)
    queue = closed_queue(sess, [tmp_path / "bad", tmp_path / "good"])
    reader = tf.TFRecordReader(on_error="skip")
    assert drain(sess, reader.read(queue).value)[-3:] == [b"good0", b"good1", b"good2"]


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize("options", [{"on_error": "ignore"}, {"max_errors": 3}])
def test_wrong_options_are_found_at_once(sess, kind, options):
    with pytest.raises(ValueError, match="on_error"):
        READERS[kind](**options)


def test_options_are_keywords_only():
    with pytest.raises(TypeError):
        tf.WholeFileReader(None, "skip")


@pytest.mark.parametrize("kind", READERS)
def test_timeout_of_a_read_loses_nothing(sess, paths, kind):
    queue = tf.FIFOQueue(3, tf.string)
    work = tf.placeholder(tf.string, [])
    enqueue = queue.enqueue(work)
    reader = READERS[kind]()
    read = reader.read(queue)
    with pytest.raises(tf.errors.DeadlineExceededError):
        sess.run(read, options=tf.RunOptions(timeout_in_ms=30))
    if kind == "records":
        return
    sess.run(enqueue, {work: str(paths[0])})
    sess.run(read)
    assert sess.run(reader.num_records_produced()) == 1


def test_blocked_read_is_cancelled_by_the_close_of_the_session():
    with tf.Graph().as_default():
        read = tf.TextLineReader().read(tf.FIFOQueue(3, tf.string))
        session = tf.Session()
        call = run_in_thread(session.run, read)
        session.run(tf.no_op())
        session.close()
        error = call.exception()
    assert isinstance(error, (tf.errors.CancelledError, RuntimeError))


def test_blocked_read_waits_for_a_file(sess, paths):
    queue = tf.FIFOQueue(3, tf.string)
    reader, other = tf.TextLineReader(), tf.TextLineReader()
    call = run_in_thread(sess.run, reader.read(queue))
    assert sess.run(other.num_records_produced()) == 0
    sess.run(queue.enqueue(str(paths[1])))
    assert call.result().value == b"b0"


@pytest.mark.parametrize("block", [False, True])
def test_threads_share_the_records(sess, paths, block):
    queue = closed_queue(sess, paths * 20)
    reader = tf.TextLineReader()
    read = reader.read_up_to(queue, 3).values if block else reader.read(queue).value
    calls = [run_in_thread(drain, sess, read) for _ in range(4)]
    found = list(itertools.chain.from_iterable(call.result() for call in calls))
    lines = [line for values in found for line in values] if block else found
    assert sorted(lines) == sorted([b"%c%d" % (name, i) for name in b"abc" for i in range(4)] * 20)


def test_file_is_closed_with_the_session(paths, recwarn):
    with tf.Graph().as_default(), tf.Session() as session:
        session.run(tf.TextLineReader().read(closed_queue(session, paths)))
    del session
    gc.collect()
    assert not [warning for warning in recwarn if issubclass(warning.category, ResourceWarning)]


def test_lmdb(sess, tmp_path):
    lmdb = pytest.importorskip("lmdb")
    with lmdb.open(str(tmp_path / "db")) as environment, environment.begin(write=True) as transaction:
        for i in range(5):
            transaction.put(b"k%d" % i, b"v%d" % i)
    queue = closed_queue(sess, [tmp_path / "db"])
    reader = tf.LMDBReader()
    first = sess.run(reader.read(queue))
    assert (first.key, first.value) == (b"k0", b"v0")
    keys, values = sess.run(reader.read_up_to(queue, 2))
    assert [*keys, *values] == [b"k1", b"k2", b"v1", b"v2"]
    assert sess.run(reader.num_records_produced()) == 3
    sess.run(reader.reset())
    with pytest.raises(tf.errors.UnimplementedError):
        sess.run(reader.serialize_state())


def test_lmdb_ops_are_of_the_older_kind():
    with tf.Graph().as_default():
        reader = tf.LMDBReader()
        read = reader.read(tf.FIFOQueue(3, tf.string))
        assert [reader.reader_ref.op.type, read.key.op.type] == ["LMDBReader", "ReaderRead"]
        assert reader.reader_ref.dtype._is_ref_dtype  # TensorFlow's name
        assert read.key.op.inputs[1].op.type == "FakeQueue"


def test_pipeline_skips_a_missing_file(sess, paths):
    names = [str(paths[0]), str(paths[0].parent / "none"), str(paths[2])]
    queue = tf.train.string_input_producer(names, num_epochs=2, shuffle=False)
    lines = tf.train.batch([tf.TextLineReader(on_error="skip").read(queue).value], 8)
    with running(sess):
        found = drain(sess, lines)
    assert [line for batch in found for line in batch] == [b"%c%d" % (name, i) for name in b"ac" for i in range(4)] * 2
