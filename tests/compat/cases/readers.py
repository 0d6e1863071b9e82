"""Readers: text lines, whole files, fixed-length records, TFRecords, work items."""

import gzip
import os
import zlib

from compat_cases import case, table


def write(directory, **contents):
    """Write files; returns their paths in order."""
    paths = []
    for name, content in contents.items():
        paths.append(os.path.join(directory, name))
        with open(paths[-1], "wb") as file:
            file.write(content)
    return paths


def closed_queue(tf, sess, works, dtype="string", shapes=((),)):
    queue = tf.FIFOQueue(20, dtype, shapes=list(shapes))
    if works:
        sess.run(queue.enqueue_many([works]))
    sess.run(queue.close())
    return queue


def attempt(tf, sess, fetches):
    try:
        return sess.run(fetches)
    except tf.errors.OpError as error:
        return type(error).__name__


def read_all(tf, sess, reader, works, most=14):
    """Records and errors up to the end, with the counters after each read."""
    read = reader.read(closed_queue(tf, sess, works))
    counters = [reader.num_records_produced(), reader.num_work_units_completed()]
    found = []
    for _ in range(most):
        record = attempt(tf, sess, read)
        found.append([short(record), [int(count) for count in sess.run(counters)]])
        if record == "OutOfRangeError":
            break
    return found


def short(record):
    if isinstance(record, str):
        return record
    return [os.path.basename(record[0]), record[1] if len(record[1]) < 60 else [len(record[1]), record[1][:3]]]


def read_blocks(tf, sess, reader, works, number, most=8):
    blocks = reader.read_up_to(closed_queue(tf, sess, works), number)
    found = [str(blocks.keys.shape), str(blocks.values.shape)]
    for _ in range(most):
        block = attempt(tf, sess, blocks)
        if isinstance(block, str):
            found.append(block)
            if block == "OutOfRangeError":
                break
        else:
            found.append([[os.path.basename(key) for key in block[0]], list(block[1])])
    found.append([int(count) for count in sess.run([reader.num_records_produced(), reader.num_work_units_completed()])])
    return found


TEXTS = {"a": b"l1\nl2\r\n\nl4", "b": b"", "c": b"\n\n", "e": b"x\ry\r\r\nz\r"}


def text_lines_same_file_twice(tf, sess, tmp):
    (path,) = write(tmp, a=b"1\n2")
    return read_all(tf, sess, tf.TextLineReader(), [path, path])


def text_lines_block_of_nothing(tf, sess, tmp):
    queue = closed_queue(tf, sess, [])
    return sess.run(tf.TextLineReader().read_up_to(queue, 0))


def text_lines_missing_file(tf, sess, tmp):
    (path,) = write(tmp, a=b"1\n2")
    return read_all(tf, sess, tf.TextLineReader(), [tmp + "/none", path, tmp + "/none"])


def text_lines_directory(tf, sess, tmp):
    (path,) = write(tmp, a=b"1")
    reader = tf.TextLineReader()
    found = read_all(tf, sess, reader, [tmp, path], most=3)
    sess.run(reader.reset())
    return [one[1] for one in found], [one[0] for one in found], read_all(tf, sess, reader, [path])


def reader_properties(tf, sess):
    found = []
    for reader in (
        tf.TextLineReader(),
        tf.WholeFileReader(name="whole"),
        tf.FixedLengthRecordReader(3),
        tf.TFRecordReader(),
        tf.IdentityReader(),
    ):
        ref = reader.reader_ref
        found.append([ref.name, ref.op.type, ref.dtype.name, str(ref.shape), reader.supports_serialize])
    return found


def reader_op_attributes(tf, sess):
    text = tf.TextLineReader(skip_header_lines=2).reader_ref.op
    fixed = tf.FixedLengthRecordReader(3, 1, 2, 4, encoding="ZLIB").reader_ref.op
    compressed = tf.TFRecordReader(options=tf.python_io.TFRecordOptions(tf.python_io.TFRecordCompressionType.GZIP))
    return [
        text.get_attr("skip_header_lines"),
        [fixed.get_attr(name) for name in ("record_bytes", "header_bytes", "footer_bytes", "hop_bytes")],
        fixed.get_attr("encoding"),
        compressed.reader_ref.op.get_attr("compression_type"),
        text.get_attr("container"),
        text.get_attr("shared_name"),
    ]


def reader_ops_and_names(tf):
    queue = tf.FIFOQueue(3, "string", name="work")
    reader = tf.TextLineReader(name="lines")
    reader.read(queue)
    reader.read(queue.queue_ref, name="again")
    reader.read_up_to(queue, 3, name="block")
    reader.reset()
    reader.serialize_state(name="state")
    reader.restore_state("x", name="back")
    reader.num_records_produced("records")
    reader.num_work_units_completed()
    return tf.constant(0)


def read_results_are_named(tf, sess):
    queue = tf.FIFOQueue(3, "string")
    reader = tf.TextLineReader()
    read, block = reader.read(queue), reader.read_up_to(queue, tf.constant(2, tf.int64))
    return [
        type(read).__name__,
        read._fields,
        type(block).__name__,
        block._fields,
        [str(tensor) for tensor in [*read, *block]],
    ]


def inputs_of_the_read(tf, sess):
    queue = tf.FIFOQueue(3, "string")
    reader = tf.TextLineReader()
    op = reader.read_up_to(queue, 2).keys.op
    return [tensor.name for tensor in op.inputs], [tensor.dtype.name for tensor in op.inputs]


def counters_are_int64(tf):
    reader = tf.IdentityReader()
    return reader.num_records_produced(), reader.num_work_units_completed()


def identity_state(tf, sess):
    reader = tf.IdentityReader()
    state = reader.serialize_state()
    found = [sess.run(state)]
    read = reader.read(closed_queue(tf, sess, ["A", "BC", "D"]))
    sess.run(read)
    sess.run(read)
    found.append(sess.run(state))
    sess.run(reader.reset())
    found += [sess.run(state), int(sess.run(reader.num_records_produced()))]
    sess.run(reader.restore_state(found[1]))
    return [*found, sess.run(state), int(sess.run(reader.num_work_units_completed())), list(sess.run(read))]


def state_that_cannot_be_parsed_resets(tf, sess):
    reader = tf.IdentityReader(name="r")
    sess.run(reader.read(closed_queue(tf, sess, ["A"])))
    found = []
    try:
        sess.run(reader.restore_state(b"\xff\xff"))
    except tf.errors.InvalidArgumentError as error:
        found.append("Could not parse state for IdentityReader 'r': " in error.message)
    return [*found, int(sess.run(reader.num_records_produced()))]


def whole_file_missing_stays(tf, sess, tmp):
    (path,) = write(tmp, a=b"1")
    reader = tf.WholeFileReader()
    found = read_all(tf, sess, reader, [tmp + "/none", path], most=3)
    sess.run(reader.reset())
    return found, read_all(tf, sess, reader, [path])


FIXED = b"HHaabbccddFF"


def fixed_records_hop_3(tf, sess, tmp):
    reader = tf.FixedLengthRecordReader(2, header_bytes=2, footer_bytes=2, hop_bytes=3, name="hops")
    return read_all(tf, sess, reader, write(tmp, a=FIXED))


def fixed_records_of_3_and_4(tf, sess, tmp):
    (path,) = write(tmp, a=FIXED)
    first = read_all(tf, sess, tf.FixedLengthRecordReader(3, 2, 2), [path])
    return first, read_all(tf, sess, tf.FixedLengthRecordReader(4, 2, 2), [path])


def fixed_records_file_shorter_than_header(tf, sess, tmp):
    queue = closed_queue(tf, sess, write(tmp, a=b"H", b=b"HHaa", c=b"HH"))
    reader = tf.FixedLengthRecordReader(2, header_bytes=2)
    read = reader.read(queue)
    found = []
    for _ in range(4):
        found.append(short(attempt(tf, sess, read)))
        found.append([int(reader_count) for reader_count in sess.run([reader.num_records_produced(), queue.size()])])
    return found


def fixed_records_compressed(tf, sess, tmp):
    write(tmp, z=zlib.compress(FIXED), g=gzip.compress(FIXED, mtime=0))
    found = []
    for name, encoding in (("z", "ZLIB"), ("g", "GZIP")):
        found += read_all(tf, sess, tf.FixedLengthRecordReader(2, 2, 2, encoding=encoding), [f"{tmp}/{name}"])
    return found


def fixed_records_missing(tf, sess, tmp):
    (path,) = write(tmp, a=b"1234")
    return read_all(tf, sess, tf.FixedLengthRecordReader(2), [tmp + "/none", path])


def records(tf, path, *values, options=None):
    with tf.python_io.TFRecordWriter(path, options) as writer:
        for value in values:
            writer.write(value)
    return path


def tfrecords(tf, sess, tmp):
    path = records(tf, tmp + "/a", b"abc", b"", b"defgh")
    return os.path.getsize(path), read_all(tf, sess, tf.TFRecordReader(), [path, path])


def tfrecords_compressed(tf, sess, tmp):
    found = []
    types = tf.python_io.TFRecordCompressionType
    for kind in (types.GZIP, types.ZLIB, types.NONE):
        options = tf.python_io.TFRecordOptions(kind)
        path = records(tf, f"{tmp}/f{kind}", b"abc", b"", b"defgh", options=options)
        found += read_all(tf, sess, tf.TFRecordReader(options=options), [path])
    return found


def tfrecords_blocks(tf, sess, tmp):
    path = records(tf, tmp + "/a", b"abc", b"", b"defgh")
    return read_blocks(tf, sess, tf.TFRecordReader(), [path, path], 2)


def tfrecords_cut(tf, sess, tmp):
    with open(records(tf, tmp + "/a", b"abc", b"defgh"), "rb") as file:
        content = file.read()
    found = []
    for end in (0, 5, 11, 12, 16, 19, 25, 31, 34, len(content) - 1):
        found.append(read_all(tf, sess, tf.TFRecordReader(), write(tmp, **{f"cut{end}": content[:end]}), most=3))
    return found


def tfrecords_corrupt(tf, sess, tmp):
    with open(records(tf, tmp + "/a", b"abc", b"defgh"), "rb") as file:
        content = file.read()
    found = []
    for at in (0, 9, 13, 16):
        changed = content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]
        found.append(read_all(tf, sess, tf.TFRecordReader(), write(tmp, **{f"bad{at}": changed}), most=3))
    return found


@case(message="corrupted record at 0")
def tfrecords_message_of_a_text_file(tf, sess, tmp):
    path = write(tmp, a=b"this is not a TFRecord file at all")
    sess.run(tf.TFRecordReader().read(closed_queue(tf, sess, path)))


@case(message="truncated record at 0")
def tfrecords_message_of_a_cut(tf, sess, tmp):
    with open(records(tf, tmp + "/a", b"abc"), "rb") as file:
        content = file.read()
    sess.run(tf.TFRecordReader().read(closed_queue(tf, sess, write(tmp, b=content[:14]))))


def queue_of_vectors_of_one(tf, sess):
    queue = tf.FIFOQueue(3, "string", shapes=[[1]])
    sess.run(queue.enqueue([["x"]]))
    sess.run(queue.enqueue([["y"]]))
    reader = tf.IdentityReader()
    return list(sess.run(reader.read(queue))), list(sess.run(reader.read(queue)))


def queue_of_vectors_of_two(tf, sess):
    queue = tf.FIFOQueue(3, "string")
    sess.run(queue.enqueue([["x", "z"]]))
    sess.run(queue.enqueue(["y"]))
    read = tf.IdentityReader().read(queue)
    return attempt(tf, sess, read), list(sess.run(read))


def queue_of_numbers(tf, sess):
    queue = closed_queue(tf, sess, [1, 2], "int32")
    return attempt(tf, sess, tf.IdentityReader().read(queue))


def queue_of_two_components(tf, sess):
    queue = tf.FIFOQueue(3, ["string", "string"])
    sess.run(queue.enqueue(["x", "z"]))
    return attempt(tf, sess, tf.IdentityReader().read(queue))


def queue_that_shuffles(tf, sess):
    queue = tf.RandomShuffleQueue(9, 0, "string", shapes=[()], seed=1)
    sess.run(queue.enqueue_many([list("abcde")]))
    read = tf.IdentityReader().read(queue)
    return [sess.run(read.value) for _ in range(5)]


def key_and_value_of_one_run_belong_together(tf, sess, tmp):
    reader = tf.TextLineReader()
    key, value = reader.read(closed_queue(tf, sess, write(tmp, a=b"1\n2\n3")))
    return [[os.path.basename(k), v, v2] for k, v, v2 in (sess.run([key, value, tf.identity(value)]) for _ in range(3))]


def two_readers_share_a_queue(tf, sess, tmp):
    queue = closed_queue(tf, sess, write(tmp, a=b"1\n2", b=b"3\n4"))
    reads = [tf.TextLineReader().read(queue).value for _ in range(2)]
    return [sess.run(reads[0]), sess.run(reads[1]), sess.run(reads[0]), sess.run(reads[1])]


def a_reader_in_two_sessions(tf, sess):
    queue = tf.FIFOQueue(9, "string", shapes=[()])
    read = tf.IdentityReader().read(queue).value
    fill = queue.enqueue_many([["a", "b"]])
    with tf.Session() as other:
        other.run(fill)
        sess.run(fill)
        return [sess.run(read), other.run(read), sess.run(read), other.run(read)]


def pipeline_of_files(tf, sess, tmp):
    paths = write(tmp, a=b"1\n2\n3", b=b"4\n5\n6")
    queue = tf.train.string_input_producer(paths, num_epochs=2, shuffle=False)
    _, value = tf.TextLineReader().read(queue)
    lines = tf.train.batch([value], 4)
    sess.run(tf.local_variables_initializer())
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess, coord)
    found = []
    try:
        while True:
            found.append(sess.run(lines).tolist())
    except tf.errors.OutOfRangeError:
        found.append(coord.should_stop())
    coord.request_stop()
    coord.join(threads)
    return found


def pipeline_with_a_missing_file(tf, sess, tmp):
    first, last = write(tmp, a=b"1\n2\n3", c=b"7\n8")
    queue = tf.train.string_input_producer([first, tmp + "/none", last], num_epochs=1, shuffle=False)
    lines = tf.train.batch([tf.TextLineReader().read(queue).value], 3)
    sess.run(tf.local_variables_initializer())
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess, coord)
    found = []
    try:
        while True:
            found.append(sess.run(lines).tolist())
    except tf.errors.OutOfRangeError:
        found.append("end")
    try:
        coord.join(threads)
    except tf.errors.NotFoundError as error:
        found.append("none; No such file or directory" in error.message)
    return found


table(
    text_lines=lambda tf, sess, tmp: read_all(tf, sess, tf.TextLineReader(), write(tmp, **TEXTS)),
    text_lines_skip_header=lambda tf, sess, tmp: read_all(
        tf, sess, tf.TextLineReader(skip_header_lines=1), write(tmp, **TEXTS)
    ),
    text_lines_skip_more_than_there_are=lambda tf, sess, tmp: read_all(
        tf, sess, tf.TextLineReader(3, "lines"), write(tmp, **TEXTS)
    ),
    text_lines_blocks=lambda tf, sess, tmp: read_blocks(tf, sess, tf.TextLineReader(), write(tmp, **TEXTS), 3),
    text_lines_blocks_of_exactly_a_file=lambda tf, sess, tmp: read_blocks(
        tf, sess, tf.TextLineReader(), write(tmp, a=b"1\n2\n", b=b"3\n"), 2
    ),
    text_lines_with_zero_bytes_and_long=lambda tf, sess, tmp: read_all(
        tf, sess, tf.TextLineReader(), write(tmp, a=b"\x00\xff\n" + b"q" * 300_000 + b"\n")
    ),
    text_lines_negative_header=(
        lambda tf, sess, tmp: sess.run(tf.TextLineReader(skip_header_lines=-1).read(closed_queue(tf, sess, ["x"]))),
        "skip_header_lines must be >= 0 not -1",
    ),
    text_lines_header_must_be_int=lambda tf: tf.TextLineReader(skip_header_lines="x"),
    text_lines_header_of_a_float=lambda tf, sess, tmp: read_all(
        tf, sess, tf.TextLineReader(skip_header_lines=1.7), write(tmp, a=b"1\n2\n3")
    ),
    read_up_to_needs_a_scalar=lambda tf: tf.TextLineReader().read_up_to(tf.FIFOQueue(3, "string"), [1]),
    read_up_to_needs_an_integer=lambda tf: tf.TextLineReader().read_up_to(tf.FIFOQueue(3, "string"), 1.5),
    read_needs_a_queue=lambda tf: tf.TextLineReader().read("file"),
    restore_state_needs_a_scalar=lambda tf: tf.IdentityReader().restore_state(["x", "y"]),
    restore_state_needs_a_string=lambda tf: tf.IdentityReader().restore_state(3),
    identity=lambda tf, sess: read_all(tf, sess, tf.IdentityReader(), ["x", "", "yy"]),
    identity_blocks=lambda tf, sess: read_blocks(tf, sess, tf.IdentityReader(), ["x", "", "yy"], 5),
    state_within_a_work=(
        lambda tf, sess: sess.run(tf.IdentityReader().restore_state(b"\x08\x02\x10\x01")),
        "Inconsistent work started vs. finished when restoring in IdentityReader 'IdentityReaderV2'",
    ),
    state_of_negative_numbers=(
        lambda tf, sess: sess.run(tf.IdentityReader().restore_state(b"\x08" + b"\xff" * 9 + b"\x01")),
        "Unexpected negative value when restoring in IdentityReader",
    ),
    state_of_a_text_reader=(lambda tf, sess: sess.run(tf.TextLineReader().serialize_state()), "Reader SerializeState"),
    restoring_a_text_reader=(lambda tf, sess: sess.run(tf.TextLineReader().restore_state("")), "Reader RestoreState"),
    whole_files=lambda tf, sess, tmp: read_all(tf, sess, tf.WholeFileReader(), write(tmp, a=b"one\ntwo", b=b"")),
    whole_file_blocks=lambda tf, sess, tmp: read_blocks(tf, sess, tf.WholeFileReader(), write(tmp, a=b"1", b=b"2"), 3),
    fixed_records=lambda tf, sess, tmp: read_all(
        tf, sess, tf.FixedLengthRecordReader(2, header_bytes=2, footer_bytes=2), write(tmp, a=FIXED)
    ),
    fixed_records_all_positional=lambda tf, sess, tmp: read_all(
        tf, sess, tf.FixedLengthRecordReader(2, 2, 2, 1), write(tmp, a=FIXED)
    ),
    fixed_records_hop_past_the_end=lambda tf, sess, tmp: read_all(
        tf, sess, tf.FixedLengthRecordReader(2, hop_bytes=20), write(tmp, a=FIXED)
    ),
    fixed_records_incomplete_tail=lambda tf, sess, tmp: read_all(
        tf, sess, tf.FixedLengthRecordReader(5), write(tmp, a=FIXED, b=b"1234", c=b"12345")
    ),
    fixed_records_blocks=lambda tf, sess, tmp: read_blocks(
        tf, sess, tf.FixedLengthRecordReader(2, 2, 2), write(tmp, a=FIXED, b=FIXED), 3
    ),
    fixed_records_negative_record=(
        lambda tf, sess, tmp: sess.run(tf.FixedLengthRecordReader(-1).read(closed_queue(tf, sess, write(tmp, a=b"1")))),
        "record_bytes must be >",
    ),
    fixed_records_negative_header=(
        lambda tf, sess, tmp: sess.run(
            tf.FixedLengthRecordReader(1, -1).read(closed_queue(tf, sess, write(tmp, a=b"1")))
        ),
        "header_bytes must be >= 0 not -1",
    ),
    fixed_records_negative_hop=(
        lambda tf, sess, tmp: sess.run(
            tf.FixedLengthRecordReader(1, hop_bytes=-2).read(closed_queue(tf, sess, write(tmp, a=b"1")))
        ),
        "hop_bytes must be >= 0 not -2",
    ),
    fixed_records_without_a_length=lambda tf: tf.FixedLengthRecordReader(None),
    fixed_records_of_a_string=lambda tf: tf.FixedLengthRecordReader("3"),
    fixed_records_encoding_must_be_a_string=lambda tf: tf.FixedLengthRecordReader(3, encoding=3),
    tfrecords_missing=(
        lambda tf, sess, tmp: sess.run(tf.TFRecordReader().read(closed_queue(tf, sess, [tmp + "/none"]))),
        "none; No such file or directory",
    ),
    tfrecords_unknown_compression=lambda tf: tf.TFRecordReader(options="BZIP"),
    tfrecords_compression_by_name=lambda tf: tf.TFRecordReader(options="GZIP").num_records_produced(),
)
