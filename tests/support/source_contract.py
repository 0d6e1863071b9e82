"""What every source promises: a class that the tests of each kind of source inherit from."""

import json
import sys

import lockstep
import numpy as np
import pytest
from orchestration import no_thread_left

import pipeline

SEEDS = (87654321, 9)  # what seed=9 becomes without a global one


def same(example):
    return example


def cleared(value):
    """Write zeros into all arrays of an example or a batch that may be written to."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.dtype.hasobject):
        for each in value:
            cleared(each)
    elif isinstance(value, np.ndarray) and value.flags.writeable:
        value[...] = np.zeros((), value.dtype)
    return 0


class SourceContract:
    """The examples of an epoch have the numbers 0 to `count`; everything in an example follows from its number.

    Attributes:
        count: The number of examples.
        known: Whether `len` tells it.
        shuffles: Whether the source can shuffle.
        shards: How many hosts can share it out; 0 if it cannot be.
    """

    count: int
    known = True
    shuffles = True
    shards = 2

    def make(self, **options):
        """Make the source."""
        raise NotImplementedError

    def numbers(self, batch):
        """The numbers of the examples of a batch, whose contents this checks."""
        raise NotImplementedError

    @pytest.fixture(autouse=True)
    def _no_thread_left(self):
        with no_thread_left():
            yield

    def taken(self, batches):
        """The numbers in all further batches."""
        with batches:
            return [self.numbers(each) for each in batches]

    def in_order(self, source, size=4, **options):
        """The numbers of all examples of a source."""
        batches = pipeline.batch(source, size, allow_smaller_final_batch=True, **options)
        return [number for numbers in self.taken(batches) for number in numbers]

    def random(self, **options):
        return self.make(**options, **({"shuffle": True, "seed": 3} if self.shuffles else {}))

    def test_examples_come_in_order(self):
        assert self.in_order(self.make()) == list(range(self.count))

    def test_examples_one_by_one(self):
        source = self.make()
        for _ in range(2):
            for number, example in enumerate(source):
                [got] = pipeline.batch([example], 1)
                assert self.numbers(got) == [number]
            assert number == self.count - 1

    def test_epochs(self):
        assert self.in_order(self.make(num_epochs=2)) == 2 * list(range(self.count))
        endless = pipeline.batch(self.make(num_epochs=None), self.count, capacity=self.count)
        with endless:
            for _ in range(3):
                assert self.numbers(next(endless)) == list(range(self.count))

    def test_nobody_gets_what_was_written_into_rows(self):
        source = self.make()
        assert len(list(source.map(cleared))) == self.count
        for size in (1, self.count):
            assert self.in_order(source, size) == list(range(self.count))
            for batch in source.batch(size):
                cleared(batch)
        for example in source:
            cleared(example)
        assert self.in_order(source) == list(range(self.count))

    def test_length(self):
        source = self.make(num_epochs=3)
        if not self.known:
            for each in (source, source.batch(4)):
                with pytest.raises(TypeError, match="known"):
                    len(each)
            return
        assert len(source) == 3 * self.count
        for whole in (False, True):
            batches = source.batch(4, drop_remainder=whole)
            assert len(batches) == len(list(batches)) == (3 * self.count + 3 * (not whole)) // 4
        with pytest.raises(TypeError, match="num_epochs=None"):
            len(self.make(num_epochs=None))

    @pytest.mark.parametrize("options", [{}, {"deterministic": True}, {"num_threads": 0}])
    def test_more_epochs_than_anybody_reads(self, options):
        source = self.random(num_epochs=sys.maxsize)
        with pipeline.batch(source, 4, **options) as batches:
            assert {*self.numbers(next(batches)), *self.numbers(next(batches))} <= set(range(self.count))
        with pytest.raises(TypeError, match="is more than len" if self.known else "is (known only at|not known)"):
            len(source)

    def test_items(self):
        if not self.known:
            pytest.skip("this source has no items by number")
        source = self.random(num_epochs=2)
        order = self.in_order(source)
        for i in (0, self.count, 2 * self.count - 1, -1, -2 * self.count):
            [got] = pipeline.batch([source[i]], 1)
            assert self.numbers(got) == [order[i]]
        for i in (2 * self.count, -2 * self.count - 1):
            with pytest.raises(IndexError, match=f"there is no example {i}"):
                source[i]

    def test_orders_are_random(self):
        if not self.shuffles:
            pytest.skip("this source does not shuffle")
        order = self.in_order(self.make(shuffle=True, seed=3, num_epochs=2))
        first, second = order[: self.count], order[self.count :]
        assert sorted(first) == sorted(second) == list(range(self.count))
        assert first != list(range(self.count))
        assert first != second
        assert self.in_order(self.make(shuffle=True, seed=3)) == first
        assert self.in_order(self.make(shuffle=True, seed=4)) != first
        data = self.make(shuffle=True, seed=3).batch(4)
        assert [[i for got in data.epoch(e) for i in self.numbers(got)] for e in range(2)] == [first, second]

    def test_threads_share_the_examples(self):
        assert sorted(self.in_order(self.random(num_epochs=3), num_threads=3)) == sorted(3 * list(range(self.count)))

    @pytest.mark.parametrize("threads", [1, 3])
    def test_deterministic_loops(self, threads):
        order = self.in_order(self.random(num_epochs=2))
        options = {"deterministic": True, "num_threads": threads}
        assert self.in_order(self.random(num_epochs=2), capacity=3, **options) == order
        pool = pipeline.shuffle_batch(
            self.random(num_epochs=2), 3, 20, 7, seed=9, allow_smaller_final_batch=True, **options
        )
        drawn, _ = lockstep.play(*SEEDS, 7, order)
        assert [i for numbers in self.taken(pool) for i in numbers] == drawn

    @pytest.mark.parametrize("seed", [3, None])
    @pytest.mark.parametrize("kind", ["batch", "shuffle_batch"])
    def test_states(self, kind, seed):
        def loop():
            source = self.make(num_epochs=2, **({"shuffle": True, "seed": seed} if self.shuffles else {}))
            if kind == "batch":
                return pipeline.batch(source, 3, deterministic=True)
            return pipeline.shuffle_batch(source, 3, 30, 5, seed=seed and 9, deterministic=True)

        states = []
        with loop() as batches:
            states.append(batches.state_dict())
            got = []
            for each in batches:
                got.append(self.numbers(each))
                states.append(batches.state_dict())
        # Before the first batch a loop has not asked its source for the seeds that chance gave.
        for i in range(seed is None, len(states), max(1, len(states) // 7)):
            resumed = loop()
            resumed.load_state_dict(json.loads(json.dumps(states[i])))
            assert self.taken(resumed) == got[i:]

    def test_a_state_of_the_second_pass(self):
        data = self.random().batch(3).epoch(1)
        with iter(data) as batches:
            next(batches)
            state = batches.state_dict()
            rest = [self.numbers(each) for each in batches]
        resumed = iter(data)
        resumed.load_state_dict(state)
        assert self.taken(resumed) == rest

    @pytest.mark.parametrize("pool", [False, True])
    def test_states_of_what_workers_make(self, pool):
        """They go on within a source, whatever workers had begun."""

        def made(threads):
            data = self.make(num_epochs=2, **({"shuffle": True} if self.shuffles else {})).map(same, workers=threads)
            return iter((data.shuffle(6) if pool else data).batch(3))

        got, states = [], []
        with made(2) as batches:
            for each in batches:
                got.append(self.numbers(each))
                states.append(batches.state_dict())
        for i in range(0, len(states), max(1, len(states) // 5)):
            resumed = made(3)
            resumed.load_state_dict(json.loads(json.dumps(states[i])))
            assert resumed.state_dict() == states[i]
            assert self.taken(resumed) == got[i + 1 :]

    def test_hosts_share_the_batches(self):
        whole = [self.numbers(each) for each in self.random().batch(2)]
        parts = [[self.numbers(each) for each in self.random().batch(2).shard(host, 2)] for host in range(2)]
        assert [whole[::2], whole[1::2]] == parts

    def test_hosts_share_the_source(self):
        if not self.shards:
            pytest.skip("this source is not shared out")
        for options in ({}, {"shuffle": True, "seed": 3}) if self.shuffles else ({},):
            parts = [self.in_order(self.make(shard=(host, self.shards), **options)) for host in range(self.shards)]
            assert sorted(i for part in parts for i in part) == list(range(self.count))
            assert all(parts)
        with pytest.raises(ValueError, match="fewer than hosts"):
            self.make(shard=(0, 10_000))

    def test_a_deterministic_pool_mixes_a_share(self):
        if not (self.shards and self.shuffles):
            pytest.skip("this source is not shared out in random order")
        options = {"min_after_dequeue": 4, "seed": 1, "deterministic": True, "allow_smaller_final_batch": True}
        for epochs in (1, 2):
            numbers = []
            for host in range(self.shards):
                source = self.make(shard=(host, self.shards), shuffle=True, seed=3, num_epochs=epochs)
                with pipeline.shuffle_batch(source, 3, **options) as batches:
                    numbers += [number for batch in batches for number in self.numbers(batch)]
            assert sorted(numbers) == sorted([*range(self.count)] * epochs)

    def test_bad_options(self):
        for options, error in [
            ({"num_epochs": 0}, ValueError),
            ({"num_epochs": 1.5}, TypeError),
            *([({"shard": (2, 2)}, ValueError), ({"shard": 1}, TypeError)] if self.shards else []),
        ]:
            with pytest.raises(error):
                self.make(**options)
