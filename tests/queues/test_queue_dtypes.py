"""Every dtype, through every kind of component: fixed rows, arrays with any shape, strings and objects."""

import gc
import weakref

import numpy as np
import pytest
from helpers import plain

from pipeline import FIFOQueue, PaddingFIFOQueue, PriorityQueue, RandomShuffleQueue

NUMBERS = [*"?bBhHiIlLqQefdgFDG", ">i4", ">f8", ">c8"]
OTHERS = ["datetime64[s]", "timedelta64[ms]", "V5", "i4,f8", ">i2,3f4"]


def samples(dtype, shape):
    """Return an array with the dtype, without NaN."""
    count = int(np.prod(shape))
    if dtype.kind in "bfc":
        return (np.arange(count) % 7 * 0.25 - 0.5).astype(dtype).reshape(shape)
    some_bytes = np.random.default_rng(1).integers(0, 120, count * dtype.itemsize, np.uint8)
    return some_bytes.view(dtype).reshape(shape)


def check(out, wanted):
    assert out.dtype == wanted.dtype.newbyteorder("=")  # queues hold numbers in the machine's byte order
    assert out.shape == wanted.shape
    assert np.array_equal(out, wanted)


@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (2, 3, 1)], ids=str)
@pytest.mark.parametrize("code", NUMBERS + OTHERS)
def test_rows(code, shape):
    dtype = np.dtype(code)
    rows = samples(dtype, (5, *shape))
    queue = FIFOQueue(10, dtype, shapes=[shape])
    queue.enqueue_many([rows])
    queue.enqueue([rows[0]])
    check(queue.dequeue(), rows[0])
    check(queue.dequeue_many(5), rows[[1, 2, 3, 4, 0]])


@pytest.mark.parametrize("code", NUMBERS + OTHERS)
def test_arrays_of_any_shape(code):
    dtype = np.dtype(code)
    queue = FIFOQueue(10, dtype)
    arrays = [samples(dtype, shape) for shape in ((2, 3), (4,), ())]
    for array in arrays:
        queue.enqueue([array])
    for array in arrays:
        check(queue.dequeue(), array)


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "int4"])
def test_extension_dtypes(name):
    dtype = np.dtype(getattr(pytest.importorskip("ml_dtypes"), name))
    rows = np.arange(6).astype(dtype).reshape(3, 2)
    queue = FIFOQueue(10, dtype, shapes=(2,))
    queue.enqueue_many([rows])
    queue.enqueue(rows[1])
    out = queue.dequeue_many(4)
    assert out.dtype == dtype
    assert np.array_equal(out.astype(np.float32), rows.astype(np.float32)[[0, 1, 2, 1]])
    padded = PaddingFIFOQueue(10, dtype, [(None,)])
    padded.enqueue(rows[1])
    padded.enqueue(rows[2][:1])
    assert plain(padded.dequeue_many(2).astype(np.float32)) == [[2, 3], [4, 0]]


def test_sources_of_any_layout():
    base = np.arange(24, dtype=np.int32).reshape(4, 6)
    for source in (
        base[:, ::2],
        base[:, ::-2],
        np.asfortranarray(base[:, :3]),
        base[::-1, 3:],
        base.astype(">i4")[:, :3],
    ):
        queue = FIFOQueue(10, np.int32, shapes=(3,))
        queue.enqueue_many([source])
        for row in source:
            queue.enqueue([row])
        assert np.array_equal(queue.dequeue_many(8), np.concatenate([source, source]))


@pytest.mark.parametrize("shape", [(8192,), None])
@pytest.mark.parametrize("how", ["writable", "view", "temporarily"])
def test_a_large_array_that_somebody_can_write_to_is_copied(shape, how):
    base = np.ones(8192, np.float32)
    source = base if how == "writable" else base[:]
    source.flags.writeable = how == "writable"
    queue = FIFOQueue(10, np.float32, shapes=[shape] if shape else None)
    queue.enqueue(source)
    if how == "temporarily":
        source.flags.writeable = True
        source[...] = -1
    base[...] = -1
    out = queue.dequeue()
    assert np.all(out == 1)
    assert out.flags.writeable
    out[...] = 0


def test_strings():
    words = [b"", b"a", "\u00e9\u4e2d".encode(), bytes(range(256)), b"x" * 100_000, b"tail\x00\x00"]
    queue = FIFOQueue(100, "string", shapes=())
    queue.enqueue_many([words])
    queue.enqueue_many([np.array(["u", "vw"])])
    queue.enqueue_many([np.array(words, object)])
    assert [queue.dequeue() for _ in words] == words
    assert plain(queue.dequeue_many(2)) == [b"u", b"vw"]
    batch = queue.dequeue_many(len(words))
    assert batch.dtype == object
    assert batch.shape == (len(words),)
    assert batch.tolist() == words


def test_arrays_of_strings():
    queue = FIFOQueue(10, "string", shapes=(2,))
    queue.enqueue([["a", b"bc"]])
    queue.enqueue_many([[["d", "e"], ["f", "g"]]])
    one = queue.dequeue()
    assert one.dtype == object
    assert plain(one) == [b"a", b"bc"]
    assert plain(queue.dequeue_many(2)) == [[b"d", b"e"], [b"f", b"g"]]


class Thing:
    pass


def objects_queue(kind):
    if kind is RandomShuffleQueue:
        return kind(100, 0, object, shapes=(), seed=1)
    return kind(100, object, [()])


@pytest.mark.parametrize("kind", [FIFOQueue, RandomShuffleQueue, PaddingFIFOQueue])
def test_objects_go_by_reference(kind):
    queue = objects_queue(kind)
    things = [Thing(), {"a": 1}, [1, 2], None, "text", np.zeros(3), (1,), 7]
    for thing in things:
        queue.enqueue([thing])
    block = np.empty(len(things), object)
    block[:] = things
    queue.enqueue_many([block])
    out = [queue.dequeue() for _ in range(5)]
    batch = queue.dequeue_many(2 * len(things) - 5)
    assert batch.dtype == object
    assert batch.shape == (2 * len(things) - 5,)
    assert sorted(map(id, [*out, *batch.tolist()])) == sorted(map(id, things * 2))


def test_objects_with_priorities():
    queue = PriorityQueue(10, object, shapes=())
    things = [Thing(), Thing()]
    queue.enqueue((2, things[0]))
    queue.enqueue((1, things[1]))
    priorities, out = queue.dequeue_many(2)
    assert plain(priorities) == [1, 2]
    assert list(out) == things[::-1]


def test_the_queue_lets_go_of_what_left():
    queue = FIFOQueue(10, object, shapes=())
    things = [Thing() for _ in range(4)]
    alive = [weakref.ref(thing) for thing in things]
    for thing in things:
        queue.enqueue([thing])
    del thing, things
    assert queue.dequeue() is not None
    queue.dequeue_many(1)
    gc.collect()
    assert [ref() is None for ref in alive] == [True, True, False, False]
    del queue
    gc.collect()
    assert all(ref() is None for ref in alive)


def test_the_queue_lets_go_of_what_was_refused():
    queue = FIFOQueue(1, object, shapes=())
    queue.enqueue([0])
    queue_of_thing = Thing()
    alive = weakref.ref(queue_of_thing)
    for call in (
        lambda thing: queue.enqueue([thing], timeout=0),
        lambda thing: queue.enqueue_many([[thing]], timeout=0),
    ):
        with pytest.raises(TimeoutError):
            call(queue_of_thing)
    del queue_of_thing, call
    gc.collect()
    assert alive() is None


def test_a_queue_in_a_cycle_is_collected():
    queue = FIFOQueue(10, object, shapes=())
    thing = Thing()
    thing.queue = queue
    queue.enqueue([thing])
    alive = weakref.ref(thing)
    del queue, thing
    gc.collect()
    assert alive() is None


def test_mixed_components():
    queue = FIFOQueue(10, [np.float32, "string", object, np.int8], shapes=[(2,), (), (), ()])
    thing = Thing()
    queue.enqueue(([1, 2], "a", thing, 3))
    queue.enqueue_many((np.ones((1, 2)), ["b"], [thing], [4]))
    x, s, o, i = queue.dequeue_many(2)
    assert plain(x) == [[1, 2], [1, 1]]
    assert plain(s) == [b"a", b"b"]
    assert list(o) == [thing, thing]
    assert plain(i) == [3, 4]


@pytest.mark.parametrize("width", [9, 40])
def test_many_components(width):
    queue = FIFOQueue(
        200, [np.int32, "string"] * width, shapes=[(), ()] * width, names=[f"c{i}" for i in range(2 * width)]
    )
    for row in range(100):
        queue.enqueue({f"c{i}": b"%d" % (row * i) if i % 2 else row * i for i in range(2 * width)})
    batch = queue.dequeue_many(100)
    for i in range(2 * width):
        wanted = [row * i for row in range(100)]
        assert plain(batch[f"c{i}"]) == ([b"%d" % number for number in wanted] if i % 2 else wanted)


class Asked:
    """An object that refuses conversion to an array."""

    def __array__(self, dtype=None, copy=None):
        raise AssertionError("asked for an array")


@pytest.mark.parametrize("kind", ["fifo", "shuffle", "priority"])
@pytest.mark.parametrize("given", [False, True])
def test_batches_of_objects_ask_no_object(kind, given):
    """An object that raised would be put back, and block the queue forever."""
    if kind == "priority":
        queue = PriorityQueue(10, object, shapes=())
    else:
        queue = {"fifo": FIFOQueue, "shuffle": RandomShuffleQueue}[kind](10, *[0] * (kind == "shuffle"), object, [()])
    things = [Asked(), [1, 2], np.arange(3), np.array(5), (), None, {"a": Asked()}]
    for i, thing in enumerate(things):
        queue.enqueue((i, thing) if kind == "priority" else (thing,))
    out = np.full(len(things), "before", object) if given else None
    if kind == "priority":
        outs = None if out is None else (np.zeros(len(things), np.int64), out)
        batch = queue.dequeue_many(len(things), out=outs)[1]
    else:
        batch = queue.dequeue_many(len(things), out=out)
    assert batch.shape == (len(things),)
    assert sorted(map(id, batch)) == sorted(map(id, things))
    assert out is None or batch is out
