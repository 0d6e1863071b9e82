"""Wrong arguments to every public callable: a clear error with the right class, before anything has changed.

`argument_calls.py` has one working call per callable. The tests replace its arguments, one at a time.
"""

import functools
import shutil

import numpy as np
import pytest
from argument_calls import CALLS, arguments, call, public, write_files

import pipeline
from pipeline.errors import InvalidArgumentError, NotFoundError, OpError

pa = pytest.importorskip("pyarrow", reason="the extra arrow is not installed")

WRONG = {
    "None": lambda: None,
    "text": lambda: "2",
    "fraction": lambda: 1.5,
    "negative": lambda: -1,
    "huge": lambda: 2**63,
    "object": object,
    "bytes": lambda: b"x",
    "list": list,
    "half a surrogate pair": lambda: "\ud800",
}

# Words in messages that name neither the callable nor the argument, only an object that the user gave or made.
SAID = {
    "QueueBase.enqueue": "FIFOQueue 'fifo_queue",
    "QueueBase.enqueue_many": "FIFOQueue 'fifo_queue",
    "batch": "dataset: expected",
    "shuffle_batch": "dataset: expected",
    "bucket_by_sequence_length": "dataset: expected",
    "decode_csv": "in record 0",
    "decode_raw": "Input to DecodeRaw",
    "parse_single_example": "Could not parse example",
    "image.decode_image": "Unknown image file format",
    "image.decode_jpeg": "Unknown image file format",
    "image.decode_png": "Unknown image file format",
    "image.center_crop_resize": "Unknown image file format",
    "image.random_resized_crop": "Unknown image file format",
}

# Arguments that accept any object.
ANY = {
    *("Coordinator.request_stop ex", "limit_epochs tensor", "Dataset.batch pad", "Dataset.bucket pad"),
    "Dataset.to_arrays pad",
    *(f"{kind} {name}" for kind in ("FixedLenFeature", "FixedLenSequenceFeature") for name in ("shape", "dtype")),
    *("FixedLenFeature default_value", "FixedLenSequenceFeature default_value", "VarLenFeature dtype"),
    *("FixedLenSequenceFeature allow_missing", "input_producer summary_name"),
}
IGNORED = {"shared_name"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("arguments")
    write_files(found)
    return found


@pytest.fixture(autouse=True)
def _here(folder, monkeypatch):
    monkeypatch.chdir(folder)
    before = set(folder.iterdir())
    yield
    for made in set(folder.iterdir()) - before:  # such as a folder "2", where other calls would find no file
        shutil.rmtree(made) if made.is_dir() else made.unlink()
    pipeline.set_random_seed(None)
    pipeline.set_deterministic(False)
    pipeline.reset()


def test_every_public_callable_is_called():
    assert sorted(public()) == sorted(CALLS), "each has a call in tests/support/argument_calls.py"


@pytest.mark.parametrize("name", [name for name, given in CALLS.items() if given is not None])
def test_arguments_of_a_wrong_kind(name):
    """Each value either works, or the error names the argument, the callable, or the value."""
    call(name)
    for argument in arguments(public()[name]):
        for kind, make in WRONG.items():
            try:
                call(name, **{argument: [make()] if argument.startswith("*") else make()})
            except Exception as error:
                check(error, name, argument.lstrip("*"), f"{name}({argument}={kind})")
            else:
                accepted = f"{name} {argument}" in ANY or argument in IGNORED
                assert kind != "object" or accepted, f"{name}({argument}=object()) was accepted"


def check(error, name, argument, where):
    text = "\n".join([str(error), *getattr(error, "__notes__", ())])
    text.encode()  # it can be printed
    named = argument in text or name.rpartition(".")[2] in text
    if isinstance(error, NotFoundError):
        assert text.startswith(("2;", "x;", "No such file")) or named, where
        return
    assert named or SAID.get(name, "\0") in text, f"{where}: {type(error).__name__}: {text}"
    right = isinstance(error, (OpError, TypeError, ValueError)) and not isinstance(error, UnicodeError)
    # A number outside a queue dtype's range and a queue without an element raise Python's own classes.
    assert right or SAID.get(name, "'replay': the example") in text, f"{where}: {type(error).__name__}: {text}"


FIXED = pipeline.FixedLenFeature
GZIP = functools.partial(pipeline.types.TFRecordOptions, "GZIP")

HALF = "cannot be stored as UTF-8: character 0 is half a surrogate pair"
NO_NAME = "no file can have the name '\\ud800': it holds half a surrogate pair"

# The callable, one argument, its value, and the error.
CASES = [
    # Wrong kinds
    ("webdataset", "columns", [5], TypeError, "webdataset: columns must be a list of names, and has int 5"),
    ("csv", "columns", [5], TypeError, "csv: csv.csv: columns must be a list of names, and has int 5"),
    ("jsonl", "columns", [b"a"], TypeError, "jsonl: columns must be a list of names, and has bytes b'a'"),
    ("parquet", "columns", 5, TypeError, "parquet: columns must be a list of names, got int 5"),
    ("csv", "defaults", [], TypeError, "csv: defaults must be a dict of values by column, not []"),
    ("csv", "names", 5, TypeError, "csv: names must be a list of names, got int 5"),
    ("csv", "dtypes", {"x": "no"}, TypeError, "csv: dtypes of column 'x' must be a dtype"),
    ("fixed_length", "dtype", 1.5, TypeError, "fixed_length: dtype must be a dtype, such as np.float32, got float 1.5"),
    (
        "image_folder",
        "root",
        None,
        TypeError,
        "image_folder: root must be a path, as text or os.PathLike, got NoneType",
    ),
    ("Coordinator", "clean_stop_exception_types", [5], TypeError, "must be exception classes, and has 5"),
    ("Coordinator.join", "threads", [5], TypeError, "join: threads: each must be a threading.Thread, got int 5"),
    ("Coordinator.join", "threads", 5, TypeError, "join: threads must be a list of threads, got int 5"),
    ("Coordinator.join", "stop_grace_period_secs", "2", TypeError, "join: stop_grace_period_secs must be a number of"),
    ("Coordinator.join", "stop_grace_period_secs", np.nan, InvalidArgumentError, "stop_grace_period_secs must be a"),
    ("Coordinator.register_thread", "thread", 5, TypeError, "register_thread: thread must be a threading.Thread"),
    ("LooperThread", "timer_interval_secs", "2", TypeError, "LooperThread: timer_interval_secs must be a number of"),
    ("LooperThread", "target", 5, TypeError, "LooperThread: target must be callable or None, got 5"),
    ("QueueRunner", "queue", 5, TypeError, "QueueRunner: queue must be a queue, got int 5"),
    ("QueueRunner", "enqueue_ops", b"x", TypeError, "enqueue_ops must be a list of callables"),
    ("QueueRunner", "close_op", 5, TypeError, "QueueRunner: close_op must be a callable without arguments, not 5"),
    ("QueueRunner.create_threads", "coord", 5, TypeError, "create_threads: coord must be a Coordinator or None, got 5"),
    ("QueueRunner.create_threads", "sess", 5, TypeError, "create_threads: sess must be a session of pipeline.compat"),
    ("QueueRunner.create_threads", "start", "no", TypeError, "create_threads: start must be a bool, got 'no'"),
    ("start_queue_runners", "collection", "2", TypeError, "start_queue_runners: collection must be a list of QueueRu"),
    ("start_queue_runners", "collection", [5], TypeError, "collection must be a list of QueueRunners, and has 5"),
    ("FIFOQueue", "names", [5], TypeError, "names must be a list of names, and has int 5"),
    ("PriorityQueue", "names", [5, 6], TypeError, "names must be a list of names, and has int 5"),
    ("FIFOQueue", "names", 5, TypeError, "names must be a list of names, got int 5"),
    ("RandomShuffleQueue", "deterministic", "no", TypeError, "deterministic must be a bool, got 'no'"),
    ("PaddingShuffleQueue", "deterministic", "no", TypeError, "deterministic must be a bool, got 'no'"),
    ("QueueBase.close", "cancel_pending_enqueues", "no", TypeError, "close: cancel_pending_enqueues must be a bool"),
    ("QueueBase.from_list", "index", 1.5, TypeError, "from_list: index must be an integer or an array of one, got 1.5"),
    ("string_input_producer", "shuffle", "no", TypeError, "shuffle must be a bool, got 'no'"),
    ("range_input_producer", "shuffle", "no", TypeError, "shuffle must be a bool, got 'no'"),
    ("slice_input_producer", "shuffle", "no", TypeError, "shuffle must be a bool, got 'no'"),
    ("input_producer", "element_shape", 1.5, TypeError, "input_producer: element_shape must be a list of sizes"),
    ("shuffle_batch", "num_threads", 2**62, ValueError, "num_threads must be at most 65,536"),
    ("Dataset.map", "workers", 2**62, ValueError, "map: workers must be at least 1 and at most 65,536"),
    ("threads", "count", 2**62, InvalidArgumentError, "threads: count must be at most 65,536"),
    ("processes", "count", 2**62, InvalidArgumentError, "processes: count must be at most 65,536"),
    ("processes", "preload", 1.5, TypeError, "processes: preload must be a list of names, got float 1.5"),
    (
        "FixedLengthRecordReader",
        "encoding",
        "zip",
        InvalidArgumentError,
        "encoding must be '' or 'ZLIB' or 'GZIP', got",
    ),
    ("FixedLengthRecordReader", "record_bytes", None, TypeError, "record_bytes must be an integer, got NoneType None"),
    ("FixedLengthRecordReader", "header_bytes", {}, TypeError, "header_bytes must be an integer, got dict {}"),
    ("TextLineReader", "skip_header_lines", {}, TypeError, "skip_header_lines must be an integer, got dict {}"),
    ("TFRecordWriter.write", "record", 5, TypeError, "record must be bytes, got int 5"),
    ("TFRecordWriter", "options", GZIP(window_bits="2"), TypeError, "TFRecordOptions: window_bits must be an integer"),
    ("TFRecordWriter", "options", GZIP(mem_level=2**63), InvalidArgumentError, "zlib does not take these settings"),
    ("Drawing.save", "path", 5, TypeError, "save: path must be a path, as text or os.PathLike, got int 5"),
    ("decode_csv", "use_quote_delim", "no", TypeError, "decode_csv: use_quote_delim must be a bool, got 'no'"),
    ("decode_csv", "records", None, TypeError, "records must be a string, or a list or array of them, got None"),
    (
        "decode_csv",
        "record_defaults",
        5,
        TypeError,
        "decode_csv: record_defaults must be a list of defaults, got int 5",
    ),
    ("decode_csv", "field_delim", 44, TypeError, "decode_csv: field_delim must be bytes or text, got int 44"),
    ("decode_csv", "na_value", None, TypeError, "decode_csv: na_value must be bytes or text, got NoneType None"),
    ("decode_csv", "select_cols", "0", TypeError, "decode_csv: select_cols must be a list of integers, got str '0'"),
    ("decode_csv", "select_cols", ["0"], TypeError, "select_cols must be an integer, got str '0'"),
    ("decode_raw", "input_bytes", 5, TypeError, "decode_raw: input_bytes must be a list of records, got int 5"),
    ("decode_raw", "out_dtype", None, TypeError, "decode_raw: out_dtype must be a dtype, such as np.float32, got None"),
    ("parse_example", "serialized", 5, TypeError, "parse_example: serialized must be a list of Examples, got int 5"),
    ("parse_example", "example_names", 5, TypeError, "parse_example: example_names must be a list of names, got int 5"),
    ("collate", "examples", 5, TypeError, "collate: examples must be a list of examples, got int 5"),
    ("report", "loop", 5, TypeError, "report: loop must be an iterator over a dataset or None, got 5"),
    ("image.encode_png", "compression", "2", TypeError, "encode_png: compression must be an integer, got str '2'"),
    ("image.encode_jpeg", "quality", None, TypeError, "encode_jpeg: quality must be an integer, got NoneType None"),
    ("image.encode_jpeg", "x_density", 2**63, InvalidArgumentError, "encode_jpeg: x_density must be at most 65,535"),
    ("image.decode_png", "max_pixels", "2", TypeError, "max_pixels must be an integer, got str '2'"),
    ("arrow", "table", pa.chunked_array([[1]]), TypeError, "arrow: expected an Arrow table, got a ChunkedArray"),
    ("parse_example", "features", {"a": FIXED([], "no")}, TypeError, "feature a: expected a dtype, such as np.float32"),
    ("parse_example", "features", {"a": FIXED(5.5, int)}, TypeError, "feature a: a dimension of the shape must be an"),
    ("parse_example", "features", {"a": FIXED([], int, 2**70)}, ValueError, "default_value of feature a: Value out of"),
    (
        "parse_example",
        "features",
        {"a": FIXED([], float, [[1], [2, 3]])},
        InvalidArgumentError,
        "feature a: dtype float",
    ),
    (
        "parse_example",
        "features",
        {"a": FIXED([], "float32", [[1], [2, 3]])},
        ValueError,
        "default_value of feature a:",
    ),
    # lone surrogates
    ("string_input_producer", "string_tensor", ["a", "\ud800"], InvalidArgumentError, f"item 1: '\\ud800' {HALF}"),
    ("input_producer", "input_tensor", ["a", "\ud800"], InvalidArgumentError, f"the input: '\\ud800' {HALF}"),
    ("slice_input_producer", "tensor_list", [["\ud800"]], InvalidArgumentError, f"item 0: '\\ud800' {HALF}"),
    ("arrays", "tensors", "\ud800", InvalidArgumentError, f"arrays: the input: {NO_NAME}"),
    ("text", "paths", ["lines.txt", "\ud800"], InvalidArgumentError, f"text: a path: {NO_NAME}"),
    ("csv", "paths", "\ud800", InvalidArgumentError, f"csv: a path: {NO_NAME}"),
    ("csv", "na_value", "\ud800", InvalidArgumentError, f"csv: na_value: '\\ud800' {HALF}"),
    ("csv", "field_delim", "\ud800", InvalidArgumentError, f"csv: field_delim: '\\ud800' {HALF}"),
    ("csv", "defaults", {"y": "\ud800"}, InvalidArgumentError, f"csv: defaults of column 'y': '\\ud800' {HALF}"),
    ("decode_csv", "records", ["\ud800"], InvalidArgumentError, f"a CSV record or default: '\\ud800' {HALF}"),
    ("decode_csv", "records", "\ud800", InvalidArgumentError, f"decode_csv: records: '\\ud800' {HALF}"),
    ("decode_csv", "na_value", "\ud800", InvalidArgumentError, f"decode_csv: na_value: '\\ud800' {HALF}"),
    ("decode_raw", "input_bytes", ["\ud800"], InvalidArgumentError, f"decode_raw: record 0: '\\ud800' {HALF}"),
    ("parse_example", "serialized", ["\ud800"], InvalidArgumentError, f"serialized example 0: '\\ud800' {HALF}"),
    ("parse_example", "features", {"\ud800": 5}, InvalidArgumentError, f"the name of a feature: '\\ud800' {HALF}"),
    ("TFRecordWriter", "path", "\ud800", InvalidArgumentError, f"TFRecordWriter: path: {NO_NAME}"),
    ("save_state", "path", "\ud800", InvalidArgumentError, f"save_state: path: {NO_NAME}"),
    ("load_state", "path", "\ud800", InvalidArgumentError, f"load_state: path: {NO_NAME}"),
]


@pytest.mark.parametrize(
    ("name", "argument", "value", "error", "text"),
    CASES,
    ids=[f"{case[0]}-{case[1]}-{i}" for i, case in enumerate(CASES)],
)
def test_a_wrong_argument_is_named(name, argument, value, error, text):
    with pytest.raises(error) as raised:
        call(name, **{argument: value})
    assert text in str(raised.value)
    assert raised.type is error or error is ValueError


def test_half_a_surrogate_pair_in_a_queue():
    queue = pipeline.FIFOQueue(2, "string", [()], name="words")
    for method, given in ((queue.enqueue, "\ud800"), (queue.enqueue_many, (["a", "\ud800"],))):
        with pytest.raises(
            InvalidArgumentError, match=r"^FIFOQueue 'words': component 0: '.ud800' cannot be stored as"
        ):
            method(given)
    assert queue.size() == 0


def test_names_of_files_that_are_not_utf8_stay_as_they_are():
    """`os.fsdecode` turns undecodable bytes into lone surrogates, and back into the same bytes."""
    queue = pipeline.FIFOQueue(1, "string", [()])
    queue.enqueue("\udcff")
    assert queue.dequeue() == b"\xff"
    assert list(pipeline.arrays(["\udcff"])) == ["\udcff"]
