"""Iterators over files resume with the same examples from every position, including the ends of files."""

import contextlib
import itertools
import json

import formats
import numpy as np
import pytest

import pipeline

# Example counts per file; some are empty.
SIZES = (5, 0, 4, 1, 0, 5)


FORMATS = {name: form for name, form in formats.FORMATS.items() if form.several}
CHANGED = pipeline.StateMismatchError, pipeline.FailedPreconditionError, pipeline.DataLossError
each_format = pytest.mark.parametrize("name", FORMATS)


def files(name, folder, sizes=SIZES):
    """Write files with these example counts; all examples differ."""
    paths, begin = [], 0
    for i, size in enumerate(sizes):
        paths.append(folder / f"{i}.{FORMATS[name].ending}")
        FORMATS[name].write(paths[-1], range(begin, begin + size))
        begin += size
    return list(map(str, paths))


def plain(element):
    return repr(element) if not isinstance(element, np.ndarray) else repr(element.tolist())


def chains(source):
    yield "alone", source
    yield "map", source.map(lambda example: example)
    yield "map that skips", source.map(lambda example: example, on_error="skip")
    yield "map in workers", source.map(lambda example: example, workers=2)
    yield "filter", source.filter(lambda example: True)
    yield "batch", source.batch(3)
    yield "map and batch", source.map(lambda example: example).batch(3)
    yield "shuffle", source.shuffle(4, seed=1)
    yield "prefetch", source.prefetch(2)
    yield "take", source.skip(2).take(11)
    yield "zip", pipeline.zip(source, source.skip(1))


@each_format
@pytest.mark.parametrize("options", [{}, {"num_epochs": 2}, {"num_epochs": 2, "shuffle": True, "seed": 3}], ids=repr)
def test_a_resume_at_every_element(name, options, tmp_path):
    source = FORMATS[name].read(files(name, tmp_path), **options)
    for label, dataset in chains(pipeline.dataset(source)):
        with iter(dataset) as iterator:
            states, elements = [iterator.state_dict()], []
            for element in iterator:
                elements.append(plain(element))
                states.append(iterator.state_dict())
        for k, state in enumerate(states):
            with iter(dataset) as resumed:
                resumed.load_state_dict(json.loads(json.dumps(state)))
                following = [plain(element) for element in itertools.islice(resumed, 4)]
                assert following == elements[k : k + 4], f"{label}: from {k}"


@each_format
@pytest.mark.parametrize("k", range(0, sum(SIZES) + 1, 3))
def test_the_checksum_continues(name, k, tmp_path):
    """Batches may have any size and end within files or at their ends."""
    data = pipeline.dataset(FORMATS[name].read(files(name, tmp_path))).checksum()
    with iter(data) as whole:
        list(whole)
        expected = whole.fingerprint()
    with iter(data) as iterator:
        for _ in range(k):
            next(iterator)
        state = json.loads(json.dumps(iterator.state_dict()))
    with iter(data) as resumed:
        resumed.load_state_dict(state)
        list(resumed)
        assert resumed.fingerprint() == expected
    with iter(data.batch(4)) as batches:
        list(batches)
        assert batches.fingerprint() == expected


@each_format
@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize("remote", [False, True])
def test_files_that_end_at_the_saved_place_now_are_told(name, batched, remote, tmp_path):
    form = FORMATS[name]
    if remote and not form.web:
        pytest.skip("it reads local files")
    write, make = form.write, form.read
    write(tmp_path / "long", range(60))
    write(tmp_path / "short", range(3))
    long, short = (tmp_path / "long").read_bytes(), (tmp_path / "short").read_bytes()
    if remote:
        memory = pytest.importorskip("fsspec").filesystem("memory")
        file = f"{tmp_path.name}/input.{form.ending}"
        path, put = f"memory://{file}", lambda data: memory.pipe(f"/{file}", data)
    else:
        path, put = str(tmp_path / f"input.{form.ending}"), (tmp_path / f"input.{form.ending}").write_bytes

    def begun():
        source = pipeline.dataset(make(path))
        return iter(source.batch(3) if batched else source)

    put(long)
    with begun() as iterator:
        for _ in range(1 if batched else 3):
            next(iterator)
        state, following = iterator.state_dict(), plain(next(iterator))
    with begun() as earlier:
        earlier.load_state_dict(state)
        put(short)
        open_already = remote and name in ("parquet", "feather")  # their columns are at their ends
        changed = pytest.raises(CHANGED, match=r"when the state was saved|has changed since|too short")
        with contextlib.nullcontext() if open_already else changed:
            assert plain(next(earlier)) == following
    with begun() as later, pytest.raises(pipeline.StateMismatchError, match="when the state was saved"):
        later.load_state_dict(state)


@pytest.mark.parametrize("length", [0, 2])
def test_iterables_that_are_shorter_now_are_told(length):
    lengths = [10]

    def numbers():
        yield from range(lengths[0])

    dataset = pipeline.dataset(numbers)
    with iter(dataset) as iterator:
        for _ in range(3):
            next(iterator)
        state = iterator.state_dict()
    lengths[0] = length
    with iter(dataset) as resumed:
        resumed.load_state_dict(state)
        with pytest.raises(pipeline.StateMismatchError, match="fewer examples"):
            next(resumed)
