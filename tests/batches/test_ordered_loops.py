"""Deterministic loops: the same batches whatever the threads, in every kind of loop."""

import copy
import itertools
import random
import threading

import numpy as np
import pytest
from helpers import run_in_thread, wait_until
from lockstep import play  # the oracle

import pipeline
from pipeline._queue import watch_pulls
from pipeline.errors import FailedPreconditionError

THREADS = (0, 1, 2, 4, 8)


def uneven(value):
    """Let other threads run, a random number of times."""
    for _ in range(random.randrange(4)):
        threading.Event().wait(0)
    return value


def numbers(epochs=2, rows=53, seed=4):
    return pipeline.range_input_producer(rows, num_epochs=epochs, seed=seed)


def function(queue):
    return lambda: uneven(int(queue.dequeue()))


def batches(make, threads, **options):
    with make(num_threads=threads, deterministic=True, **options) as loop:
        return [np.asarray(each).tolist() for each in loop], loop.fingerprint()


class TestOrder:
    @pytest.mark.parametrize("threads", THREADS)
    def test_of_a_function_is_that_of_its_pulls(self, threads):
        taken, _ = batches(lambda **more: pipeline.batch(function(numbers()), 2, **more), threads)
        with pipeline.batch(numbers(), 2) as loop:
            assert taken == [each.tolist() for each in loop]

    @pytest.mark.parametrize("threads", THREADS)
    @pytest.mark.parametrize("held_back", [0, 1, 7, 60, 200])
    def test_of_a_pool_is_that_of_the_oracle(self, threads, held_back):
        def make(**more):
            options = {"capacity": held_back + 9, "min_after_dequeue": held_back, "seed": 11}
            return pipeline.shuffle_batch(function(numbers()), 5, allow_smaller_final_batch=True, **options, **more)

        taken, _ = batches(make, threads)
        with pipeline.batch(numbers(), 1) as loop:
            arrivals = [int(each[0]) for each in loop]
        drawn, _ = play(87654321, 11, held_back, arrivals)
        assert list(itertools.chain(*taken)) == drawn

    def test_does_not_depend_on_capacity_and_batch_size(self):
        seen = set()
        for capacity, size in itertools.product((21, 40, 500), (1, 3, 40)):
            loop = pipeline.shuffle_batch(
                numbers(), size, capacity, 20, seed=1, deterministic=True, allow_smaller_final_batch=True
            )
            seen.add((tuple(itertools.chain(*(each.tolist() for each in loop))), loop.fingerprint()))
        assert len(seen) == 1

    @pytest.mark.parametrize("kind", ["array", "slices", "list"])
    def test_by_number_is_that_of_a_pool_of_examples(self, kind):
        rows = np.arange(53)

        def source():
            if kind == "slices":
                return pipeline.slice_input_producer([rows], num_epochs=3, seed=2)
            return rows if kind == "array" else rows.tolist()

        def run(**more):
            loop = pipeline.shuffle_batch(source(), 4, 60, 20, seed=6, deterministic=True, **more)
            return [np.asarray(each).tolist() for each in loop]

        assert run() == run(keep_input=lambda _: True)

    @pytest.mark.parametrize("threads", THREADS)
    @pytest.mark.parametrize("held_back", [0, 5])
    def test_of_buckets(self, threads, held_back):
        def run(threads):
            queue = numbers()
            loop = pipeline.bucket_by_sequence_length(
                len,
                lambda: uneven(np.full(int(queue.dequeue()) % 17 + 1, 1)),
                4,
                [5, 10, 14],
                num_threads=threads,
                deterministic=True,
                allow_smaller_final_batch=True,
                min_after_dequeue=held_back,
                seed=3,
            )
            return [(lengths.tolist(), rows.shape) for lengths, rows in loop], loop.fingerprint()

        assert run(threads) == run(1)

    def test_of_a_join_goes_round(self):
        sources = [range(3), range(10, 16), range(20, 21)]
        loop = pipeline.batch_join(sources, 10, deterministic=True)
        assert next(loop).tolist() == [0, 10, 20, 1, 11, 2, 12, 13, 14, 15]

    def test_of_a_join_takes_blocks_of_sixteen(self):
        sources = [pipeline.slice_input_producer([np.arange(n, n + 20)], 1, False) for n in (0, 100)]
        loop = pipeline.batch_join(sources, 40, deterministic=True)
        expected = [*range(16), *range(100, 116), *range(16, 20), *range(116, 120)]
        assert next(loop).tolist() == expected

    def test_of_a_join_that_shares_its_queue(self):
        def run():
            queue = numbers()
            sources = [function(queue) for _ in range(3)]
            return [each.tolist() for each in pipeline.batch_join(sources, 2, deterministic=True)]

        assert run() == run() == [each.tolist() for each in pipeline.batch(numbers(), 2)]

    @pytest.mark.parametrize("threads", THREADS)
    def test_with_keep_input(self, threads):
        def make(**more):
            keep = {"keep_input": lambda value: value % 3 != 0, "seed": 1}
            return pipeline.shuffle_batch(function(numbers()), 5, 60, 20, **keep, **more)

        assert batches(make, threads) == batches(make, 1)

    def test_by_default(self):
        with pytest.raises(FailedPreconditionError, match="deterministic=True"):
            pipeline.batch([1, 2], 1).fingerprint()
        pipeline.set_deterministic(True)
        try:
            assert pipeline.batch([1, 2], 1).fingerprint() == "0-0000000000000000"
        finally:
            pipeline.set_deterministic(None)


class TestErrors:
    @pytest.mark.parametrize("threads", THREADS)
    def test_come_after_the_batches_before_their_ticket(self, threads):
        inner = function(numbers(1))

        def fails():
            value = inner()
            if value == order[37]:
                raise ValueError("bad")
            return value

        order = list(itertools.chain(*(each.tolist() for each in pipeline.batch(numbers(1), 1))))
        got = []
        loop = pipeline.batch(fails, 5, num_threads=threads, deterministic=True)
        with pytest.raises(ValueError, match="bad"):
            got.extend(each.tolist() for each in loop)
        got = list(itertools.chain(*got))
        assert got == order[:35]

    @pytest.mark.parametrize("threads", THREADS)
    def test_that_are_skipped_leave_no_hole(self, threads):
        inner = function(numbers(1))

        def some():
            value = inner()
            if value % 7 == 0:
                raise ValueError(value)
            return value

        loop = pipeline.batch(some, 5, num_threads=threads, deterministic=True, on_error="skip")
        order = itertools.chain(*(each.tolist() for each in pipeline.batch(numbers(1), 1)))
        kept = [value for value in order if value % 7]
        assert list(itertools.chain(*(each.tolist() for each in loop))) == kept[: len(kept) // 5 * 5]
        assert loop.num_errors == 8

    def test_a_call_that_pulls_more_than_the_first(self):
        queue = numbers(1)
        seen = []

        def more():
            seen.append(1)
            return sum(int(queue.dequeue()) for _ in range(2 if len(seen) > 3 else 1))

        with pytest.raises(FailedPreconditionError, match=r"reads more often .* which read once\..*together"):
            list(pipeline.batch(more, 1, num_threads=2, deterministic=True, on_error="skip"))

    def test_together(self):
        queue = numbers(1)
        seen = []

        def more():
            with pipeline.together():
                seen.append(1)
                return sum(int(queue.dequeue()) for _ in range(2 if len(seen) > 3 else 1))

        assert len(list(pipeline.batch(more, 1, num_threads=2, deterministic=True))) == 3 + 25

    def test_two_loops_over_one_producer(self):
        queue = numbers(1)
        first = pipeline.batch(function(queue), 1, deterministic=True)
        next(first)
        with pytest.raises(FailedPreconditionError, match="belongs to a deterministic loop"):
            next(pipeline.batch(function(queue), 1, deterministic=True))
        first.close()

    def test_deterministic_must_be_a_bool(self):
        with pytest.raises(TypeError, match="deterministic must be True, False or None, got 1"):
            pipeline.batch([1], 1, deterministic=1)


class TestExampleRng:
    @pytest.mark.parametrize("threads", THREADS)
    def test_does_not_depend_on_threads(self, threads):
        def run(threads):
            queue = numbers(1)

            def example():
                return uneven(float(queue.dequeue())) + pipeline.example_rng().random()

            return [each.tolist() for each in pipeline.batch(example, 5, num_threads=threads, deterministic=True)]

        pipeline.set_random_seed(5)
        one = run(1)
        pipeline.set_random_seed(5)
        assert run(threads) == one
        pipeline.set_random_seed(None)
        assert run(threads) != one


class TestShards:
    @pytest.mark.parametrize("count", [1, 2, 3, 4, 6])
    @pytest.mark.parametrize("source", ["array", "slices", "function"])
    @pytest.mark.parametrize("smaller", [False, True])
    def test_of_all_hosts_make_the_batches_of_one(self, count, source, smaller):
        def make(host, hosts):
            given = {
                "array": lambda: np.arange(53),
                "slices": lambda: pipeline.slice_input_producer([np.arange(53)], 1, seed=1),
                "function": lambda: function(numbers(1)),
            }[source]()
            loop = pipeline.shuffle_batch(
                given,
                12 // hosts,
                40,
                20,
                seed=1,
                deterministic=True,
                allow_smaller_final_batch=smaller,
                shard=(host, hosts),
            )
            return [np.asarray(each).reshape(-1).tolist() for each in loop]

        shares = itertools.zip_longest(*(make(host, count) for host in range(count)), fillvalue=[])
        assert [list(itertools.chain(*share)) for share in shares] == make(0, 1)


class TestMemory:
    def test_where_the_input_stood_is_forgotten_in_time(self):
        queue = pipeline.range_input_producer(1 << 20, seed=1)
        loop = pipeline.shuffle_batch(lambda: int(queue.dequeue()), 50, 400, 300, seed=1, deterministic=True)
        with loop:
            for _ in itertools.islice(loop, 1200):
                pass
            # 128 batches, a pool of 300 whose oldest element has waited for 2,000 draws, and what is under way.
            assert len(loop._latest.ledger.journal) < 24 < 1200 * 50 // 1024
            assert len(loop._latest._pool._oldest) < 24

    def test_states_of_batches_before_are_still_whole(self):
        def make():
            source = pipeline.range_input_producer(5000, num_epochs=1, seed=1)
            return pipeline.shuffle_batch(lambda: int(source.dequeue()), 10, 400, 300, seed=1, deterministic=True)

        with make() as loop:
            taken = [next(loop).tolist() for _ in range(400)]
            for behind in (1, 63, 64):
                with make() as other:
                    other.load_state_dict(loop.state_dict(behind=behind))
                    assert next(other).tolist() == taken[-behind]
            with pytest.raises(ValueError, match="behind must be at least 0 and at most 64"):
                loop.state_dict(behind=65)


def test_seeds_drawn_by_chance_fit_into_63_bits():
    for _ in range(20):
        seeds = pipeline.batch([1], 1, deterministic=True).state_dict()["loop"]["seeds"]
        assert max(seeds) < 1 << 63


class TestWarnings:
    def said(self, caplog, loop):
        caplog.clear()
        with caplog.at_level("WARNING"):
            next(loop)
            loop.close()
        return [record.getMessage() for record in caplog.records]

    def test_of_shares_that_every_host_makes(self, caplog):
        (text,) = self.said(caplog, pipeline.batch(function(numbers()), 2, shard=(0, 2)))
        assert text.startswith("batch: with shard, every host makes the examples of all hosts")
        assert "pass shard=(host, hosts) to the source or its string_input_producer, and not to the loop" in text
        assert "pass map_ahead(function, source) instead" in text
        assert self.said(caplog, pipeline.batch(list(range(9)), 2, shard=(0, 2))) == []
        assert self.said(caplog, pipeline.batch(function(numbers()), 2, shard=(0, 1))) == []  # there is one host

    @pytest.mark.parametrize(
        "source", [lambda: (i for i in range(9)), lambda: lambda: 1], ids=["generator", "function"]
    )
    def test_of_threads_that_take_turns(self, caplog, source):
        (text,) = self.said(caplog, pipeline.batch(source(), 2, num_threads=2, deterministic=True))
        assert text.startswith("batch: num_threads is of no use: calls of this source run one at a time")
        assert self.said(caplog, pipeline.batch(source(), 2, num_threads=1, deterministic=True)) == []
        assert self.said(caplog, pipeline.batch(function(numbers()), 2, num_threads=2, deterministic=True)) == []


class TestInterrupts:
    @pytest.mark.parametrize("kind", ["function", "slices", "resumed"])
    def test_ctrl_c_in_the_first_next(self, kind):
        """The next one begins again from where the source stood."""

        def make(interrupted):
            queue = numbers()
            rows = pipeline.slice_input_producer([np.arange(53)], num_epochs=2, seed=4)
            calls = []

            def example():
                value = int(queue.dequeue()) if kind != "slices" else int(rows()[0])
                calls.append(value)
                if interrupted and len(calls) == 1:
                    raise KeyboardInterrupt
                return value

            return pipeline.shuffle_batch(example, 5, 40, 20, seed=1, deterministic=True)

        whole = [each.tolist() for each in make(False)]
        state = None
        if kind == "resumed":
            with make(False) as loop:
                done = [next(loop).tolist() for _ in range(3)]
                state, whole = loop.state_dict(), whole[len(done) :]
        with make(True) as loop:
            if state is not None:
                loop.load_state_dict(state)
            with pytest.raises(KeyboardInterrupt):
                next(loop)
            assert [each.tolist() for each in loop] == whole


class TestIterables:
    def test_a_generator_may_read(self):
        queue = numbers(1)

        def rows():
            while True:
                yield int(queue.dequeue())

        read = np.concatenate(list(pipeline.batch(rows, 7, deterministic=True)))
        assert read.tolist() == np.concatenate(list(pipeline.batch(numbers(1), 7)))[: len(read)].tolist()
        assert len(read) == 49

    def test_example_rng_in_items(self):
        class Noisy:
            def __len__(self):
                return 3000

            def __getitem__(self, index):
                return index + pipeline.example_rng().random()

        pipeline.set_random_seed(3)
        one = np.concatenate(list(pipeline.batch(Noisy(), 10, deterministic=True)))
        pipeline.set_random_seed(3)
        other = np.concatenate(list(pipeline.batch(Noisy(), 60, deterministic=True)))
        pipeline.set_random_seed(None)
        assert one.tolist() == other.tolist()
        assert len(set(one % 1)) > 2990


class TestEditedStates:
    @pytest.mark.parametrize(
        "edit",
        [
            lambda state: state.update(delivered={}),
            lambda state: state.update(fingerprint=None),
            lambda state: state["loop"].pop("seeds"),
            lambda state: state["loop"].update(seeds=[]),
            lambda state: state["journal"].pop("steps"),
            lambda state: state["journal"].update(first=[1]),
            lambda state: state["journal"].update(every=0),
            lambda state: state.update(sources=[1]),
            lambda state: state.update(files=3),
        ],
        ids=["delivered", "fingerprint", "no seeds", "seeds", "steps", "first", "every", "sources", "files"],
    )
    @pytest.mark.parametrize("summed", [True, False], ids=["summed", "without a checksum"])
    def test_one_clear_error_and_nothing_changes(self, edit, summed):
        def make():
            return pipeline.shuffle_batch(function(numbers()), 5, 40, 20, deterministic=True)

        with make() as loop:
            next(loop)
            state = loop.state_dict()
        edit(state)
        if not summed:
            del state["checksum"]
        with make() as loop:
            with pytest.raises(pipeline.errors.InvalidArgumentError):
                loop.load_state_dict(state)
            assert loop.delivered == (0, 0)
            next(loop)

    @pytest.mark.parametrize(
        "edit",
        [
            lambda state: state["delivered"].update(elements=6),
            lambda state: state["loop"].update(before=1),
            lambda state: state["journal"]["first"].__setitem__(0, 1),
            lambda state: state.update(fingerprint="5-0123456789abcdef"),
            lambda state: state.update(checksum="0123456789abcdef"),
            lambda state: state.update(checksum=None),
            lambda state: state.update(read=None),
            lambda state: state.update(read=[1.5]),
            lambda state: state["read"].pop("elements"),
            lambda state: state["read"].pop("files"),
            lambda state: state["read"].update(more=1),
        ],
        ids=[
            *("elements", "before", "journal", "fingerprint", "checksum", "none"),
            *("no read", "read list", "no elements", "no files", "more"),
        ],
    )
    def test_numbers_that_would_give_other_batches_in_silence(self, edit):
        def make():
            return pipeline.shuffle_batch(function(numbers()), 5, 40, 20, deterministic=True)

        with make() as loop:
            next(loop)
            state = loop.state_dict()
            rest = np.concatenate(list(loop)).tolist()
        edited = copy.deepcopy(state)
        edit(edited)
        with make() as loop:
            with pytest.raises(pipeline.errors.InvalidArgumentError, match="damaged: its checksum is of another one"):
                loop.load_state_dict(edited)
            loop.load_state_dict(dict(reversed(state.items())))
            assert np.concatenate(list(loop)).tolist() == rest


class TestPlainQueues:
    """What other threads fill has an order, but no place to go back to."""

    def filled(self):
        queue = pipeline.FIFOQueue(200, "int64", shapes=())
        queue.enqueue_many(np.arange(100))
        queue.close()
        return queue

    @pytest.mark.parametrize("threads", THREADS)
    @pytest.mark.parametrize("pulls_first", [True, False])
    def test_beside_a_producer(self, threads, pulls_first):
        plain, rows = self.filled(), pipeline.range_input_producer(100, num_epochs=1, shuffle=False)

        def example():
            first = uneven(int(plain.dequeue())) if pulls_first else int(rows.dequeue())
            return first, int(rows.dequeue()) if pulls_first else uneven(int(plain.dequeue()))

        loop = pipeline.batch(example, 10, num_threads=threads, deterministic=True)
        with loop:
            for number, (one, other) in enumerate(loop):
                assert one.tolist() == other.tolist() == list(range(number * 10, number * 10 + 10))
                with pytest.raises(FailedPreconditionError, match=r"'fifo_queue.*which other threads fill"):
                    loop.state_dict()

    def test_another_loop(self):
        inner = pipeline.batch([1, 2, 3, 4], 1, deterministic=True)
        rows = numbers(1)

        def example():
            return int(next(inner)[0]), int(rows.dequeue())

        with inner, pipeline.batch(example, 2, num_threads=2, deterministic=True) as loop:
            assert next(loop)[0].tolist() == [1, 2]
            with pytest.raises(FailedPreconditionError, match="which other threads fill"):
                loop.state_dict()

    def test_as_the_source_of_a_join(self):
        slow = pipeline.FIFOQueue(200, "int64", shapes=())
        loop = pipeline.batch_join([self.filled(), slow], 4, deterministic=True)
        with loop:
            asking = run_in_thread(list, loop)
            wait_until(lambda: slow.stats().dequeue_waits > 3, "the loop to look up and ask again")
            slow.enqueue_many(np.arange(200, 210))
            slow.close()
            taken = np.concatenate(asking.result()).tolist()
        assert taken == [*range(16), *range(200, 210), *range(16, 100)][:108]

    def test_nobody_watches_after_the_loops(self):
        for _ in range(3):
            list(pipeline.batch(self.filled(), 10, deterministic=True))
        with pytest.raises(RuntimeError, match="nobody watches"):
            watch_pulls(-1)
