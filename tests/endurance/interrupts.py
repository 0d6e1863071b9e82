"""Sends Ctrl-C to a loop over batches at every moment at which Python checks for it."""

import dis
import functools
import gc
import sys

import numpy as np
from orchestration import no_thread_left

import pipeline
from pipeline.batches import merged
from pipeline.datasets import iterator
from pipeline.datasets.iterator import DatasetIterator
from pipeline.diagnostics.workers import WorkerGroup
from pipeline.hooks import loop_of_thread
from pipeline.queues.typed import TypedQueue
from pipeline.queues.waits import Watchdog
from pipeline.runners import registry, runner
from pipeline.runners.coordinator import Coordinator
from pipeline.stages import prefetch, run
from pipeline.sync.stop_flag import StopFlag

# Signal handlers run after calls, at function starts and at backward jumps in loops.
LOOKS = {dis.opmap.get(name) for name in ("CALL", "CALL_KW", "CALL_FUNCTION_EX", "RESUME", "JUMP_BACKWARD")}
STRUCK = [DatasetIterator, run.Run, run.Clock, prefetch.Fetching, prefetch.Threads, merged.Merging, StopFlag]
STRUCK += [runner.QueueRunner, WorkerGroup, Watchdog, TypedQueue, Coordinator, registry, runner, iterator, prefetch]


class Interrupt(KeyboardInterrupt):
    """Raised by the handler."""


def codes(*owners):
    functions = (getattr(each, "__wrapped__", each) for owner in owners for each in vars(owner).values())
    return {each.__code__ for each in functions if hasattr(each, "__code__") and each.__module__.startswith("pipeline")}


class Striker:
    """A trace function that raises Interrupt once, the `number`-th time Python checks for signals in some code.

    0 never raises. `seen` counts the checks.
    """

    def __init__(self, number, struck):
        self.seen = 0
        self._number = number
        self._codes = struck
        self._last = {}
        self.struck = False

    def __call__(self, frame, event, _):
        if frame.f_code not in self._codes:
            return None
        frame.f_trace = self._opcode  # 3.13 traces no opcodes in a function's first call without
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self._opcode

    def strike(self):
        raise Interrupt

    def _opcode(self, frame, event, _):
        if event == "opcode":
            looked = self._last.get(frame) in LOOKS
            self._last[frame] = code = frame.f_code.co_code[frame.f_lasti]
            if looked and dis.opname[code] != "PUSH_EXC_INFO":  # the call failed: Python does not check then
                self.seen += 1
                if self.seen == self._number:
                    self.struck = True
                    self._last.clear()
                    self.strike()
        elif event == "return":
            self._last.pop(frame, None)
        return self._opcode


def one_source():
    return pipeline.batch(functools.partial(next, iter(range(8))), 4, num_threads=2)


def several_sources():
    return pipeline.shuffle_batch_join([iter(range(4)), iter(range(4))], 3, 8, 2, seed=1)


def producer():
    return pipeline.batch(pipeline.slice_input_producer([np.arange(4)], num_epochs=2), 4)


LOOPS = [one_source, several_sources, producer]


def interrupted(loop, number, closed):
    """Run a loop, in a `with` or not, and interrupt it at this moment; return whether the moment was reached."""
    striker = Striker(number, codes(*STRUCK))
    sys._getframe().f_trace_opcodes = True  # 3.12 traces opcodes only if some frame requested it before
    sys.settrace(striker)
    try:
        if closed:
            with loop:
                for _ in loop:
                    pass
        else:
            for _ in loop:
                pass
    except Interrupt:
        pass
    finally:
        sys.settrace(None)
    assert loop_of_thread.coord is None
    return striker.struck


def strike(make, closed, first=1, step=1):
    """Interrupt at every `step`-th moment from the `first` on, each in a separate loop; return the count."""
    number, struck = first, True
    gc.collect()
    gc.freeze()  # a collection then covers only the loop's own objects, not all imports: 10 ms instead of 150
    try:
        while struck:
            with no_thread_left():
                loop = make()
                struck = interrupted(loop, number, closed)
                del loop
                gc.collect()
            registry.reset()
            number += step
    finally:
        gc.unfreeze()
    return (number - first) // step - 1
