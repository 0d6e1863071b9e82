"""The promises of every source: a base class for the tests of each kind of source.

Most is `pipeline.testing.check_source`. The rest is about `pipeline.batch` and `shuffle_batch` over a source.
"""

import json
import sys

import lockstep
import pytest
from orchestration import no_thread_left

import pipeline
from pipeline.testing import check_source

SEEDS = (87654321, 9)  # the seeds derived from seed=9 without a global seed


def same(example):
    return example


class SourceContract:
    """The examples in an epoch are numbered 0 to `count`; the number determines everything in an example.

    Attributes:
        count: The example count.
        known: True if `len` returns it.
        shuffles: True if the source can shuffle.
        shards: How many hosts can share it; 0 if it cannot be sharded.
        checks: The names of the applicable `check_source` checks; None for all.
    """

    count: int
    known = True
    shuffles = True
    shards = 2
    checks = None

    def make(self, **options):
        """Make the source."""
        raise NotImplementedError

    def numbers(self, batch):
        """Check a batch's contents and return its examples' numbers."""
        raise NotImplementedError

    @pytest.fixture(autouse=True)
    def _no_thread_left(self):
        with no_thread_left():
            yield

    def taken(self, batches):
        """Return the numbers in all further batches."""
        with batches:
            return [self.numbers(each) for each in batches]

    def in_order(self, source, size=4, **options):
        """Return the numbers of all examples in a source."""
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

    def test_every_promise_of_a_source(self):
        options = ["num_epochs", *["shuffle", "seed"][: 2 * self.shuffles], *["shard"][: self.shards]]
        check_source(self.make, options=options, hosts=(self.shards or 2,), checks=self.checks)

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
        # Before the first batch the source has not yet been asked for its random seeds.
        for i in range(seed is None, len(states), max(1, len(states) // 7)):
            resumed = loop()
            resumed.load_state_dict(json.loads(json.dumps(states[i])))
            assert self.taken(resumed) == got[i:]

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
