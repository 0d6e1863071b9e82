"""Ctrl-C interrupts the start of queue runners: the started ones can be stopped."""

import contextlib
import sys
import threading

import pytest
from endurance.interrupts import Interrupt, Striker

import pipeline.compat.v1 as tf
from pipeline.compat.queues import runner

CODES = {runner.start_queue_runners.__code__} | {
    each.__code__
    for each in (*vars(threading.Event).values(), *vars(threading.Condition).values())
    if hasattr(each, "__code__")
}


@pytest.mark.skipif(sys.version_info < (3, 11), reason="the instructions at which Python looks have other names")
def test_threads_that_wait_for_the_others_begin():
    number, struck = 0, True
    while struck:
        number += 1
        with tf.Graph().as_default(), tf.Session() as sess:
            tf.train.string_input_producer(["a", "b"])
            coord = tf.train.Coordinator()
            striker = Striker(number, CODES)
            sys._getframe().f_trace_opcodes = True  # 3.12 traces opcodes only if some frame requested it before
            sys.settrace(striker)
            try:
                with contextlib.suppress(Interrupt):
                    tf.train.start_queue_runners(sess, coord)
            finally:
                sys.settrace(None)
            struck = striker.struck
            coord.request_stop()
            coord.join(stop_grace_period_secs=20)
    assert number > 5
