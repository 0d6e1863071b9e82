"""Producers with a thread not yet started: a loop computes their elements, with neither thread nor queue."""

import gc
import threading
import weakref

import numpy as np
import pytest
from helpers import run_in_thread
from orchestration import threads_since

import pipeline
from pipeline.producers import queue


def loop(source, size=1, **options):
    return pipeline.batch(source, size, allow_smaller_final_batch=True, **options)


class TestThreads:
    def test_of_a_loop_over_names(self):
        files = pipeline.string_input_producer(["a", "b"], num_epochs=3, shuffle=False)
        runner, begun = files.runner, threads_since()
        with loop(files.dequeue, 4, num_threads=1) as batches:
            assert next(batches).tolist() == [b"a", b"b", b"a", b"b"]
            assert not any("input_producer" in thread.name for thread in begun())
        assert not runner._begun  # nor did a thread that has ended

    def test_of_a_loop_over_rows_in_memory(self):
        begun = threads_since()
        source = pipeline.slice_input_producer([np.arange(1000)], num_epochs=1, seed=1)
        with loop(source, 10, num_threads=2) as batches:
            numbers = [next(batches)]
            assert not begun()
            numbers += batches
        assert sorted(np.concatenate(numbers).tolist()) == [*range(1000)]

    def test_rows_of_a_file_are_read_by_a_thread(self, tmp_path):
        np.save(tmp_path / "rows.npy", np.arange(100))
        rows = np.load(tmp_path / "rows.npy", mmap_mode="r")
        for given in (rows, rows[10:].reshape(30, 3)):
            begun = threads_since()
            with loop(pipeline.slice_input_producer([given])) as batches:
                next(batches)
                assert any("batch" in thread.name for thread in begun())

    def test_a_cancel_op_belongs_to_a_thread(self):
        called = threading.Event()

        def cancel():
            called.set()
            rows.close(cancel_pending_enqueues=True)

        rows = pipeline.input_producer(np.arange(3), cancel_op=cancel)
        with loop(rows) as batches:
            next(batches)
            assert rows.runner is None
        assert called.wait(120)


class TestSharing:
    def test_a_thread_that_begins_later_goes_on(self):
        rows = pipeline.range_input_producer(10, num_epochs=3, shuffle=False, capacity=4)
        with loop(rows.dequeue, 13, num_threads=0) as batches:
            assert next(batches).tolist() == [*range(10), 0, 1, 2]
            coord = pipeline.Coordinator()
            rows.runner.create_threads(coord=coord, daemon=True, start=True)
            assert next(batches).tolist() == [*range(3, 10), *range(6)]
            assert rows.dequeue_many(4).tolist() == [6, 7, 8, 9]
            with pytest.raises(pipeline.errors.OutOfRangeError):
                rows.dequeue()
        coord.request_stop()
        coord.join()

    def test_outside_the_loop_other_producers_need_their_threads(self):
        with iter(pipeline.dataset(pipeline.range_input_producer(3))) as elements:
            next(elements)
            other = pipeline.range_input_producer(3)
            with pytest.raises(pipeline.errors.FailedPreconditionError, match="never started"):
                other.dequeue()

    def test_others_may_take_from_it_meanwhile(self):
        rows = pipeline.range_input_producer(6, num_epochs=1, shuffle=False)
        with loop(rows.dequeue, 2, num_threads=0) as batches:
            assert next(batches).tolist() == [0, 1]
            assert (rows.dequeue(), rows.dequeue_many(2).tolist()) == (2, [3, 4])
            assert next(batches).tolist() == [5]

    def test_two_loops_get_each_element_once(self):
        rows = pipeline.range_input_producer(2000, num_epochs=1)
        loops = [loop(rows, 7, num_threads=2) for _ in range(2)]
        calls = [run_in_thread(list, each) for each in loops]
        numbers = np.concatenate([batch for call in calls for batch in call.result()])
        assert sorted(numbers.tolist()) == [*range(2000)]

    def test_what_somebody_has_enqueued_comes_first(self):
        rows = pipeline.range_input_producer(3, num_epochs=1, shuffle=False)
        rows.enqueue(99)
        with loop(rows.dequeue, 4) as batches:
            assert next(batches).tolist() == [99, 0, 1, 2]

    def test_a_later_iterator_goes_on(self):
        rows = pipeline.range_input_producer(9, num_epochs=1, shuffle=False)
        with loop(rows.dequeue, 2, num_threads=0) as first:
            assert next(first).tolist() == [0, 1]
            with loop(rows, 3, num_threads=0, deterministic=True) as second:
                assert next(second).tolist() == [2, 3, 4]
                assert next(first).tolist() == [5, 6]


class TestMemory:
    @pytest.mark.parametrize("options", [{}, {"deterministic": True}, {"on_error": "skip"}], ids=str)
    def test_a_producer_goes_with_the_loop_that_read_it(self, options):
        gc.collect()
        gc.disable()
        try:
            source = pipeline.slice_input_producer([np.arange(100)], num_epochs=1, collection=[])
            gone = weakref.ref(source)
            with loop(source, 5, **options) as batches:
                next(batches)
            del source, batches
            assert gone() is None
        finally:
            gc.enable()


class TestStatistics:
    def test_count_what_did_not_pass_the_queue(self):
        rows = pipeline.range_input_producer(10, num_epochs=2)
        with loop(rows.dequeue, 5, num_threads=0) as batches:
            for taken in (5, 10, 15):
                next(batches)
                stats = rows.stats()
                assert (stats.enqueued, stats.dequeued, stats.size) == (taken, taken, 0)
            assert rows.progress() == (15, 20, 10)
            (stage,) = (
                stage for stage in pipeline.report().stages if stage.kind == "producer" and stage.name == rows.name
            )
            assert (stage.elements, stage.progress.position) == (15, 15)

    def test_a_report_while_a_producer_is_made(self, monkeypatch):
        """Its locks stand for another thread."""
        reports, make = [], queue.Lock

        def lock():
            monkeypatch.undo()
            reports.append(pipeline.report())
            monkeypatch.setattr(queue, "Lock", lock)
            return make()

        monkeypatch.setattr(queue, "Lock", lock)
        rows = pipeline.range_input_producer(10, 1, name="half made", collection=[])
        monkeypatch.undo()
        before, after = reports[0], pipeline.report()
        assert rows.name not in [stage.name for stage in before.stages]
        assert rows.name in [stage.name for stage in after.stages]

    def test_bad_out_takes_nothing(self):
        rows = pipeline.range_input_producer(10, num_epochs=1, shuffle=False)
        taken = []

        def example():
            if not taken:
                with pytest.raises(ValueError, match="out"):
                    rows.dequeue_many(4, out=np.empty(3, np.int32))
            taken.append(rows.dequeue())
            return taken[-1]

        with loop(example, 3, num_threads=0) as batches:
            assert next(batches).tolist() == [0, 1, 2]
