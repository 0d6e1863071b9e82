"""Correct arguments for each public callable, and how its result is used."""

import functools
import inspect
import itertools
import threading
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import numpy as np
from formats import FORMATS
from mds_files import write_mds
from steps import JOINING, STEPS

import pipeline
from pipeline import image, testing, types


class New:
    """An argument made for each call."""

    def __init__(self, make):
        self.make = make


def rows():
    return pipeline.arrays(np.arange(8))


def pairs():
    return rows().batch(2)


def lists():
    return pipeline.arrays(np.ones((4, 2), int))


def iterator():
    return iter(rows())


def saved_buffer():
    """Return a buffer after saving it."""
    made = buffer()
    made.save("experience")
    return made


def filled():
    """Return a closed queue with two vectors."""
    queue = pipeline.FIFOQueue(10, "int64", [(2,)])
    queue.enqueue_many(([[1, 2], [3, 4]],))
    queue.close()
    return queue


def names():
    """Return a closed queue with a file name."""
    queue = pipeline.FIFOQueue(1, "string", [()])
    queue.enqueue("lines.txt")
    queue.close()
    return queue


def open_queue():
    return pipeline.FIFOQueue(10, "int64", [()])


def stopped():
    coord = pipeline.Coordinator()
    coord.request_stop()
    return coord


def runner():
    queue = open_queue()
    queue.close()
    return pipeline.QueueRunner(queue, [queue.dequeue])


def buffer():
    made = pipeline.replay(4, priorities=True)
    made.add(1)
    return made


def drawing():
    return pipeline.draw()


def writer():
    return pipeline.TFRecordWriter("written")


def picture(data):
    return np.zeros((2, 2, 3), np.uint8)


def table():
    import pyarrow  # not for each test that imports this

    return pyarrow.table({"a": [1, 2]})


def state():
    batches = iterator()
    next(batches)
    return batches.state_dict()


PICTURE = np.zeros((4, 4, 3), np.uint8)
FEATURES = {"a": pipeline.FixedLenFeature([], np.int64, 0)}
READING = {"num_epochs": 1, "shuffle": False, "seed": 1, "shard": (0, 1)}
PRODUCING = {"num_epochs": 1, "shuffle": True, "seed": 1, "capacity": 4}
FUNCTION = {"workers": None, "ordered": True, "on_error": "skip", "max_errors": 1, "seed": 1}
BATCHING = {"batch_size": 2, "capacity": 8, "on_error": "skip", "max_errors": 1}
SHUFFLING = {**BATCHING, "min_after_dequeue": 2}
READER = {"on_error": "skip", "max_errors": 1}


def _call(step):
    return functools.partial(step.before, rows()), step.arguments_for(rows())


READ = {name: form for name, form in FORMATS.items() if form.source.__name__ == name}


def _reading(name):
    """Return a source's name and arguments; no arguments if its library is missing."""
    form = READ[name]
    if form.needs and not find_spec(form.needs):
        return name, None
    paths = next(iter(inspect.signature(form.source).parameters))
    return name, {paths: f"{name}.{form.ending}", **form.options, **READING}


# By name: a factory for the method's object, or None; and arguments, at least those without a default. None if the name
# is not called. Steps and files have those in `steps.py` and `formats.py`, if there are no others here.
CALLS = {f"Dataset.{each.name}": _call(each) for each in STEPS.values() if each.arguments and each.name not in JOINING}
CALLS |= {name: (None, each) if each else None for name, each in map(_reading, READ)}
CALLS |= {
    # Datasets and their sources
    "Dataset": None,  # not made by calling it
    "Dataset.cache": (rows, {"folder": "kept", "rebuild": True, "verify": True}),
    "Dataset.epoch": (rows, {"i": 0}),
    "Dataset.filter": (rows, {"function": bool, **FUNCTION}),
    "Dataset.flat_map": (rows, {"function": lambda x: [x], **FUNCTION}),
    "Dataset.map": (rows, {"function": abs, **FUNCTION}),
    "Dataset.map_batches": (lambda: rows().batch(2), {"function": abs, **FUNCTION}),
    "Dataset.to_arrays": (rows, {}),
    "dataset": (None, {"given": [1, 2]}),
    "mix": (None, {"datasets": New(lambda: [rows(), rows()])}),
    "zip": (None, {"*datasets": New(lambda: [rows(), rows()])}),
    "interleave": (None, {"datasets": New(lambda: [rows(), rows()])}),
    "replay": (None, {"capacity": 4}),
    "ReplayBuffer.add": (buffer, {"example": 1}),
    "ReplayBuffer.update": (buffer, {"keys": [0], "priorities": [1]}),
    "ReplayBuffer.save": (buffer, {"folder": "buffer"}),
    "ReplayBuffer.load": (saved_buffer, {"folder": "experience"}),
    "ReplayBuffer.load_state_dict": (buffer, {"state": New(lambda: buffer().state_dict())}),
    "ListValue": (None, {"*iterable": ([1],)}),
    "arrays": (None, {"tensors": New(lambda: np.arange(4)), **READING}),
    "array_record": None,
    "arrow": (None, {"table": New(table), **READING}),
    "audio": None,
    "grain": None,
    "huggingface": None,  # needs its library
    "image_folder": (None, {"root": "images", "decode": picture, **READING}),
    "mds": (None, {"folders": "shards", **READING}),
    "lance": None,
    "tf_data": None,
    "write_tokens": (None, {"path": "written.bin", "documents": [[1, 2]], "end": 3}),
    "video": None,
    "vortex": None,
    "processes": (None, {"count": 1}),
    "threads": (None, {"count": 1}),
    "save_state": (None, {"path": "state", "state": New(state)}),
    "load_state": (None, {"path": "saved"}),
    # Queues and threads
    "FIFOQueue": (None, {"capacity": 4, "dtypes": "int32", "shapes": [()]}),
    "PaddingFIFOQueue": (None, {"capacity": 4, "dtypes": "int32", "shapes": [(None,)]}),
    "PriorityQueue": (None, {"capacity": 4, "types": "int32", "shapes": [()]}),
    "RandomShuffleQueue": (None, {"capacity": 4, "min_after_dequeue": 1, "dtypes": "int32", "shapes": [()]}),
    "PaddingShuffleQueue": (None, {"capacity": 4, "min_after_dequeue": 1, "dtypes": "int32", "shapes": [(None,)]}),
    "QueueBase.close": (open_queue, {}),
    "QueueBase.dequeue": (filled, {"timeout": 0}),
    "QueueBase.dequeue_many": (filled, {"n": 2, "timeout": 0}),
    "QueueBase.dequeue_up_to": (filled, {"n": 2, "timeout": 0}),
    "QueueBase.enqueue": (open_queue, {"vals": 1, "timeout": 0}),
    "QueueBase.enqueue_many": (open_queue, {"vals": ([1],), "timeout": 0}),
    "QueueBase.from_list": (None, {"index": 0, "queues": New(lambda: [open_queue()])}),
    "QueueBase.is_closed": (open_queue, {}),
    "QueueBase.size": (open_queue, {}),
    "freeze": (None, {"array": New(lambda: np.zeros(3))}),
    "Coordinator": (None, {}),
    "Coordinator.close_on_stop": (stopped, {"queue": New(open_queue)}),
    "Coordinator.join": (stopped, {}),
    "Coordinator.register_thread": (stopped, {"thread": New(threading.Thread)}),
    "Coordinator.request_stop": (stopped, {}),
    "Coordinator.wait_for_stop": (stopped, {}),
    "LooperThread": (None, {"coord": New(stopped), "timer_interval_secs": None, "target": print, "args": ("",)}),
    "LooperThread.loop": (None, {"coord": New(stopped), "timer_interval_secs": None, "target": print, "args": ("",)}),
    "QueueRunner": (None, {"queue": New(open_queue), "enqueue_ops": [print]}),
    "QueueRunner.create_threads": (runner, {}),
    "add_queue_runner": (None, {"qr": New(runner), "collection": New(list)}),
    "start_queue_runners": (None, {"coord": New(stopped), "collection": New(lambda: [runner()])}),
    # TensorFlow's functions
    "batch": (None, {"tensors": New(rows), "batch_size": 2, **BATCHING}),
    "batch_join": (None, {"tensors_list": New(lambda: [rows()]), "batch_size": 2, **BATCHING}),
    "shuffle_batch": (None, {"tensors": New(rows), "batch_size": 2, "min_after_dequeue": 2, **BATCHING}),
    "shuffle_batch_join": (
        None,
        {"tensors_list": New(lambda: [rows()]), "batch_size": 2, "min_after_dequeue": 2, **BATCHING},
    ),
    "bucket_by_sequence_length": (
        None,
        {
            "input_length": len,
            "tensors": New(lambda: [np.ones(3)] * 4),
            "batch_size": 2,
            "bucket_boundaries": [2],
            **BATCHING,
        },
    ),
    "set_deterministic": (None, {"deterministic": False}),
    "set_random_seed": (None, {"seed": 1}),
    "input_producer": (None, {"input_tensor": New(lambda: np.arange(4)), **PRODUCING}),
    "limit_epochs": (None, {"tensor": New(rows), "num_epochs": 1}),
    "match_filenames_once": (None, {"pattern": "*"}),
    "range_input_producer": (None, {"limit": 4, **PRODUCING}),
    "slice_input_producer": (None, {"tensor_list": New(lambda: [np.arange(4)]), **PRODUCING}),
    "string_input_producer": (None, {"string_tensor": ["a", "b"], "shard": (0, 1), **PRODUCING}),
    "FixedLengthRecordReader": (None, {"record_bytes": 2, **READER}),
    "IdentityReader": (None, READER),
    "LMDBReader": (None, READER),
    "TFRecordReader": (None, READER),
    "TextLineReader": (None, READER),
    "WholeFileReader": (None, READER),
    "ReaderBase.read": (pipeline.TextLineReader, {"queue": New(names), "timeout": 0}),
    "ReaderBase.read_up_to": (pipeline.TextLineReader, {"queue": New(names), "num_records": 2, "timeout": 0}),
    "ReaderBase.restore_state": (pipeline.IdentityReader, {"state": b""}),
    "TFRecordWriter": (None, {"path": "written"}),
    "TFRecordWriter.write": (lambda: pipeline.TFRecordWriter("written"), {"record": b""}),
    "decode_csv": (None, {"records": ["1,a"], "record_defaults": New(lambda: [[0], [b""]])}),
    "decode_raw": (None, {"input_bytes": b"ab", "out_dtype": np.int16}),
    "parse_example": (None, {"serialized": [b""], "features": FEATURES}),
    "parse_single_example": (None, {"serialized": b"", "features": FEATURES}),
    "FixedLenFeature": (None, {"shape": [], "dtype": np.int64}),
    "FixedLenSequenceFeature": (None, {"shape": [], "dtype": np.int64, "allow_missing": True}),
    "VarLenFeature": (None, {"dtype": np.int64}),
    "collate": (None, {"examples": [1, 2]}),
    "concatenate": (None, {"arrays": New(lambda: [np.ones(2), np.ones(2)])}),
    "pad": (None, {"arrays": New(lambda: [np.ones(2), np.ones(3)])}),
    "stack": (None, {"arrays": New(lambda: [np.ones(2), np.ones(2)])}),
    # Slow ones
    "report": (None, {}),
    "monitor": (None, {"show": False, "interval": 5.0}),
    "trace": (None, {"path": "trace.json"}),
    "draw": (None, {}),
    "show_config": (None, {"mode": "dicts"}),
    # Modules
    "image.center_crop_resize": (None, {"data": PICTURE, "size": (2, 2), "resize": 3}),
    "image.central_crop": (None, {"images": PICTURE, "size": (2, 2)}),
    "image.crop": (None, {"images": PICTURE, "top": 0, "left": 0, "height": 2, "width": 2}),
    "image.decode_bmp": None,
    "image.decode_gif": None,
    "image.decode_image": (None, {"contents": New(lambda: image.encode_png(PICTURE))}),
    "image.decode_jpeg": (None, {"contents": New(lambda: image.encode_jpeg(PICTURE))}),
    "image.decode_png": (None, {"contents": New(lambda: image.encode_png(PICTURE))}),
    "image.encode_jpeg": (None, {"image": PICTURE}),
    "image.encode_png": (None, {"image": PICTURE}),
    "image.flip_left_right": (None, {"images": PICTURE}),
    "image.flip_up_down": (None, {"images": PICTURE}),
    "image.normalize": (None, {"images": PICTURE, "mean": 0.5, "std": 0.5}),
    "image.random_crop": (None, {"images": PICTURE, "size": (2, 2), "rng": New(lambda: np.random.default_rng(1))}),
    "image.random_resized_crop": (
        None,
        {"data": PICTURE, "size": (2, 2), "rng": New(lambda: np.random.default_rng(1)), "flip": 0.5},
    ),
    "image.resize": (None, {"images": PICTURE, "size": (2, 2)}),
    "image.to_chw": (None, {"images": PICTURE}),
    "testing.CheckFailed": None,  # not made by users
    "testing.Checked": None,
    "testing.check_resume": (None, {"dataset": New(rows), "limit": 4, "checks": ["resume"]}),
    "testing.check_source": (None, {"source": range(8), "limit": 20, "checks": ["again"]}),
    "Drawing.png": None,  # needs its library
    "Drawing.save": (drawing, {"path": "drawing.svg"}),
    # Iterators
    "DatasetIterator.load_state_dict": (lambda: iter(rows()), {"state": New(state)}),
    "DatasetIterator.next": (lambda: iter(rows().prefetch(1)), {"timeout": 5}),
    "DatasetIterator.set_state": (lambda: iter(rows()), {"state": New(lambda: iter(rows()).get_state())}),
    "DatasetIterator.state_dict": (lambda: iter(rows()), {}),
}


def write_files(folder):
    """Write the files for the calls."""
    for name, form in READ.items():
        if CALLS[name] is not None:
            form.write(Path(folder, f"{name}.{form.ending}"), range(3))
    Path(folder, "images", "cat").mkdir(parents=True)
    Path(folder, "images", "cat", "0.png").write_bytes(image.encode_png(PICTURE))
    Path(folder, "lines.txt").write_text("ab\ncd\n")
    write_mds(Path(folder, "shards"), {"x": "int"}, [[{"x": 1}]])
    pipeline.save_state(Path(folder, "saved"), state())


def public():
    """Return the public functions, classes and methods, by name."""
    found = {}
    for name in pipeline.__all__:
        thing = getattr(pipeline, name)
        if thing is image:
            found |= {f"image.{each}": getattr(thing, each) for each in thing.__all__}
        elif not isinstance(thing, ModuleType):
            found[name] = thing
    found |= {f"testing.{each}": getattr(testing, each) for each in testing.__all__}
    for name in ("IdentityReader", "LooperThread"):  # programs call these, unlike the other types
        found[name] = getattr(types, name)
    classes = [each for each in found.values() if inspect.isclass(each)]
    for each in [*classes, types.DatasetIterator, types.QueueBase, types.ReaderBase, types.ReplayBuffer, types.Drawing]:
        found |= _methods(each)
    return {name: thing for name, thing in found.items() if arguments(thing)}


_CALLED = {"Engine": "QueueBase", "TypedQueue": "QueueBase"}


def _methods(kind):
    found = {}
    for name in dir(kind):
        home = next(each for each in kind.__mro__ if name in vars(each))
        member = getattr(kind, name)
        if not name.startswith("_") and callable(member) and home.__module__.startswith("pipeline"):
            found[f"{_CALLED.get(home.__name__, home.__name__)}.{name}"] = member
    return found


def arguments(thing):
    """Return a callable's argument names; a star marks *args and **kwargs."""
    given = inspect.signature(thing).parameters.values()
    return [
        ("*" if each.kind in (each.VAR_POSITIONAL, each.POSITIONAL_ONLY) else "") + each.name
        for each in given
        if each.name not in ("self", "options")
    ]


def call(name, **wrong):
    """Call a public callable with its arguments, some replaced, and use its result."""
    make, given = CALLS[name]
    given = {**given, **wrong}
    values = {key: value.make() if isinstance(value, New) else value for key, value in given.items()}
    method = name.rpartition(".")[2]
    thing = getattr(make(), method) if make is not None else functools.reduce(getattr, name.split("."), pipeline)
    positional = [value for key, value in values.items() if key.startswith("*")]
    named = {key: value for key, value in values.items() if not key.startswith("*")}
    _use(thing(*itertools.chain(*positional), **named))


def _use(result):
    """Take the first examples, or close the result."""
    if isinstance(result, types.ReplayBuffer):
        result.add(1)
    elif isinstance(result, types.QueueBase):
        if getattr(result, "runner", None) is not None:
            with pipeline.batch(result, 1) as batches:
                next(batches, None)
    elif isinstance(result, pipeline.Dataset):
        with iter(result) as examples:
            next(examples, None)
            next(examples, None)
    elif isinstance(result, types.DatasetIterator):
        with result:
            next(result, None)
    elif isinstance(result, threading.Thread):
        if result.ident is None:
            result.start()
        result.join()
    elif hasattr(type(result), "__exit__"):
        with result:
            pass
    elif inspect.isfunction(result):
        result()
