"""States over changed input: each raises a StateMismatchError with the difference, if possible in `load_state_dict`."""

import copy
import hashlib
import io
import json
import re
import tarfile
from typing import ClassVar

import numpy as np
import pytest

import pipeline
from pipeline.errors import InvalidArgumentError, StateMismatchError


def write_text(path, number):
    path.write_text("".join(f"{number * 100 + line}\n" for line in range(20)))


def write_tar(path, number):
    with tarfile.open(path, "w") as tar:
        for line in range(20):
            data = str(number * 100 + line).encode()
            member = tarfile.TarInfo(f"{number}-{line:02}.txt")
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))


def of_text(names, **options):
    return pipeline.text(names, **options)


def of_csv(names, **options):
    return pipeline.csv(names, names=["a"], **options)


def of_webdataset(names, **options):
    return pipeline.webdataset(names, **options)


KINDS = {"text": (of_text, write_text), "csv": (of_csv, write_text), "webdataset": (of_webdataset, write_tar)}


@pytest.fixture(params=KINDS)
def kind(request, tmp_path):
    make, write = KINDS[request.param]
    ending = "tar" if request.param == "webdataset" else "csv"
    names = [str(tmp_path / f"{number:02}.{ending}") for number in range(20)]
    for number, _ in enumerate(names):
        write(tmp_path / f"{number:02}.{ending}", number)
    return make, names


def loop_over(source, **options):
    return pipeline.batch(source, 6, deterministic=True, **options)


def state_after(loop, batches):
    with loop:
        for _ in range(batches):
            next(loop)
        return json.loads(json.dumps(loop.state_dict()))


def refused(loop, state, match, error=StateMismatchError):
    with loop, pytest.raises(error, match=match) as caught:
        loop.load_state_dict(state)
    return caught.value


@pytest.mark.parametrize("shuffle", [False, True])
def test_files_in_another_order(kind, shuffle):
    make, names = kind
    names = names[:4]
    state = state_after(loop_over(make(names, shuffle=shuffle, seed=1)), 5)
    other = [names[0], names[2], names[1], names[3]]
    what = r"file 2 of 4 was '.*01\.\w+' when the state was saved and is '.*02\.\w+' now"
    error = refused(loop_over(make(other, shuffle=shuffle, seed=1)), state, what)
    assert [each for each, _, _ in error.differences] == [f"{make.__name__[3:]}: file_names"]
    with loop_over(make(names, shuffle=shuffle, seed=1)) as loop:
        loop.load_state_dict(state)
        next(loop)


def test_a_file_that_was_renamed_before_it_was_read(kind, tmp_path):
    make, names = kind
    state = state_after(loop_over(make(names[:4]), num_threads=0), 1)
    other = str(tmp_path / f"other.{names[3].rpartition('.')[2]}")
    (tmp_path / names[3]).rename(other)
    refused(loop_over(make([*names[:3], other])), state, r"file 4 of 4 was '.*03\.\w+' .* and is '.*other\.\w+' now")


def test_of_many_files_the_last_are_known_by_name(kind):
    make, names = kind
    state = state_after(loop_over(make(names)), 2)
    assert len(json.dumps(state)) < 4000
    swapped = [names[1], names[0], *names[2:]]
    refused(loop_over(make(swapped)), state, "files before the last 16 were others, or in a different order, when")
    swapped = [*names[:-2], names[-1], names[-2]]
    refused(loop_over(make(swapped)), state, r"file 15 of the last 16 was '.*18\.\w+'")


class TestWhatWasTakenOut:
    @pytest.fixture
    def state(self, tmp_path):
        self.names = [str(tmp_path / f"{number}.txt") for number in range(3)]
        for number, _ in enumerate(self.names):
            write_text(tmp_path / f"{number}.txt", number)
        return state_after(loop_over(pipeline.text(self.names)), 7)

    @pytest.mark.parametrize("key", ["checksum", "files", "state", "recipe", "version"])
    def test_a_key(self, state, key):
        del state[key]
        refused(loop_over(pipeline.text(self.names)), state, key, InvalidArgumentError)

    def test_the_name_of_a_file(self, state):
        assert len(state["files"]) > 2
        for name in state["files"]:
            edited = copy.deepcopy(state)
            del edited["files"][name]
            refused(loop_over(pipeline.text(self.names)), edited, "damaged", InvalidArgumentError)

    def test_what_was_delivered(self, state):
        state["delivered"]["elements"] = 0
        refused(loop_over(pipeline.text(self.names)), state, "damaged", InvalidArgumentError)


class Numbers:
    """As many numbers as there are now; it saves its position."""

    def __init__(self, count):
        self.count, self.at = count, 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.at >= self.count:
            raise StopIteration
        self.at += 1
        return self.at - 1

    def state_dict(self):
        return {"at": self.at}

    def load_state_dict(self, state):
        self.at = state["at"]


class TestInputThatHasBecomeShorter:
    @pytest.fixture(params=[0, 5], ids=["in order", "pool"])
    def make(self, request):
        def make(count, **options):
            if not request.param:
                return pipeline.batch(Numbers(count), 6, capacity=18, deterministic=True, **options)
            return pipeline.shuffle_batch(Numbers(count), 6, 18, request.param, seed=1, deterministic=True, **options)

        return make

    def test_a_state_after_the_last_batch_goes_on_with_nothing(self, make):
        with make(30) as loop:
            for _ in range(5):
                next(loop)
            states = [loop.state_dict()]
            assert list(loop) == []
            states.append(loop.state_dict())
        for state in states:
            with make(30) as loop:
                loop.load_state_dict(state)
                assert list(loop) == []


class TestWhatDiffers:
    """`load_state_dict` reports the difference."""

    MAKERS: ClassVar = {
        "strings": lambda n: pipeline.string_input_producer([str(i) for i in range(n)], num_epochs=2, seed=1),
        "range": lambda n: pipeline.range_input_producer(n, num_epochs=2, seed=1),
        "slices": lambda n: pipeline.slice_input_producer([np.arange(n)], num_epochs=2, seed=1),
        "arrays": lambda n: pipeline.arrays(np.arange(n), num_epochs=2, shuffle=True, seed=1),
        "array": np.arange,
        "list": lambda n: list(range(n)),
    }

    @pytest.mark.parametrize("what", MAKERS)
    @pytest.mark.parametrize("shuffled", [False, True])
    def test_another_one(self, what, shuffled):
        def loop(n):
            source = self.MAKERS[what](n)
            if not shuffled:
                return loop_over(source)
            return pipeline.shuffle_batch(source, 6, 30, 10, seed=2, deterministic=True)

        state = state_after(loop(40), 2)
        error = refused(loop(41), state, "when the state was saved")
        assert error.differences
        with loop(40) as same:
            same.load_state_dict(state)
            next(same)

    @pytest.mark.parametrize("what", ["strings", "slices", "arrays"])
    def test_another_seed_is_told_and_one_drawn_by_chance_is_replaced(self, what):
        data = np.arange(40)
        makers = {
            "strings": lambda seed: pipeline.string_input_producer(list(map(str, data)), num_epochs=2, seed=seed),
            "slices": lambda seed: pipeline.slice_input_producer([data], num_epochs=2, seed=seed),
            "arrays": lambda seed: pipeline.arrays(data, num_epochs=2, shuffle=True, seed=seed),
        }
        with loop_over(makers[what](1)) as loop:
            next(loop)
            state = loop.state_dict()
            rest = [repr(batch) for batch in loop]
        refused(loop_over(makers[what](2)), state, r"seed.* was \[?.*1\]? when .* and is \[?.*2\]? now")
        with loop_over(makers[what](None)) as loop:
            loop.load_state_dict(state)
            assert [repr(batch) for batch in loop] == rest

    def test_sources_of_a_join(self):
        def loop(*counts):
            sources = [pipeline.range_input_producer(n, num_epochs=1, seed=1) for n in counts]
            return pipeline.batch_join(sources, 4, deterministic=True)

        state = state_after(loop(20, 30), 3)
        differing = {(20, 31): "rows was 30 when the state was saved and is 31 now", (30, 20): "rows was 20 .* 30 now"}
        for counts, match in differing.items():
            refused(loop(*counts), state, match)
        with loop(20, 30) as same:
            same.load_state_dict(state)
            next(same)

    def test_nothing_has_changed(self):
        state = state_after(loop_over(np.arange(40)), 2)
        with loop_over(np.arange(41)) as loop:
            with pytest.raises(StateMismatchError, match=r"40 .* 41 now"):
                loop.load_state_dict(state)
            assert loop.delivered == (0, 0)
            assert next(loop).tolist() == list(range(6))


ROWS = np.arange(20)


def of_rows(rows=ROWS, name="rows", **options):
    return pipeline.slice_input_producer([rows], name=name, **{"num_epochs": 2, "seed": 3, **options})


OTHER_PRODUCERS = {
    "values": (lambda: of_rows(ROWS + 1), "producer 'rows': its values have changed"),
    "rows": (lambda: of_rows(np.arange(21)), "producer 'rows': rows was 20 when the state was saved and is 21 now"),
    "seed": (lambda: of_rows(seed=4), "seed was 3 when the state was saved and is 4 now"),
    "shuffle": (lambda: of_rows(shuffle=False), "producer 'rows': shuffle was True"),
    "epochs": (lambda: of_rows(num_epochs=3), "producer 'rows': num_epochs was 2"),
    "name": (
        lambda: of_rows(name="others"),
        "producer 'rows': name was 'rows' when the state was saved and is 'others'",
    ),
}


@pytest.mark.parametrize("other", OTHER_PRODUCERS)
def test_another_producer_is_told_by_load_state_dict(other):
    make, text = OTHER_PRODUCERS[other]
    with pipeline.batch(of_rows(), 4, deterministic=True) as batches:
        next(batches)
        state = batches.state_dict()
        left = np.concatenate(list(batches)).tolist()
    with pipeline.batch(make(), 4, deterministic=True) as batches:
        with pytest.raises(StateMismatchError, match=re.escape(text)):
            batches.load_state_dict(state)
        next(batches)  # nothing has changed
    with pipeline.batch(of_rows(seed=None), 4, deterministic=True) as batches:  # drawn by chance: takes the saved one
        batches.load_state_dict(state)
        assert np.concatenate(list(batches)).tolist() == left


def edited(state, key, value):
    """Return a state with another value, and the matching checksum."""
    state = {**state, key: value}
    text = json.dumps({name: each for name, each in state.items() if name != "checksum"}, sort_keys=True)
    return {**state, "checksum": hashlib.blake2b(text.encode(), digest_size=8).hexdigest()}


@pytest.mark.parametrize("key", ["epoch", "delivered", "fingerprint", "seeds", "files", "recipe"])
@pytest.mark.parametrize("value", [None, -1, 10**30, 1.5, "x", [], {}, [1], [["x", 1]], [[1]], {"a": 1}], ids=repr)
def test_a_value_of_another_kind_is_an_error_of_ours(key, value):
    dataset = pipeline.dataset(ROWS).shuffle(seed=1).batch(4)
    with iter(dataset) as batches:
        next(batches)
        state = batches.state_dict()
    if value == state[key]:
        return
    with iter(dataset) as batches, pytest.raises(InvalidArgumentError):
        batches.load_state_dict(edited(state, key, value))
