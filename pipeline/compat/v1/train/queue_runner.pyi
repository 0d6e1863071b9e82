"""Made by tests/support/compat_stub.py from pipeline/compat/names.py."""

from pipeline.compat.queues.runner import (
    QueueRunner as QueueRunner, add_queue_runner as add_queue_runner, start_queue_runners as start_queue_runners,
)
