"""Ctrl-C strikes one of several threads that share an iterator: nothing is lost, and all is counted once."""

import dis
import sys

import pytest
from helpers import run_in_thread

import pipeline
from pipeline.datasets.iterator import DatasetIterator


@pytest.mark.skipif(sys.version_info < (3, 11), reason="the instructions at which Python looks have other names")
def test_ctrl_c_after_which_another_thread_was_first():
    """What the struck thread had made comes again, and all are counted once.

    `_take` and `_lock` are private: Ctrl-C strikes between the end of the lock in `_take` and its return.
    """
    data = pipeline.dataset(range(0, 60, 2)).filter(lambda number: True)
    numbers, resumed, whole = iter(data), iter(data), iter(data)
    taken = [next(numbers), next(numbers)]

    def strike(frame, event, _):
        if frame.f_code is not DatasetIterator._take.__code__:
            return None
        frame.f_trace, frame.f_trace_opcodes = step, True
        return step

    def step(frame, event, _):
        instruction = frame.f_code.co_code[frame.f_lasti]
        let_go = frame.f_locals.get("made") is not None and not frame.f_locals["self"]._lock._is_owned()
        if event == "opcode" and let_go and dis.opname[instruction] == "POP_TOP":
            sys.settrace(None)
            taken.extend(run_in_thread(lambda: [next(numbers) for _ in range(3)]).result())
            raise KeyboardInterrupt
        return step

    sys._getframe().f_trace_opcodes = True
    sys.settrace(strike)
    try:
        with pytest.raises(KeyboardInterrupt):
            next(numbers)
    finally:
        sys.settrace(None)
    assert taken == [0, 2, 6, 8, 10]
    assert next(numbers) == 4
    assert numbers.delivered == (6, 6)
    resumed.load_state_dict(numbers.state_dict())
    rest = list(numbers)
    assert rest == list(resumed) == list(range(12, 60, 2))
    assert list(whole) == list(range(0, 60, 2))
    assert numbers.fingerprint() == resumed.fingerprint() == whole.fingerprint()
