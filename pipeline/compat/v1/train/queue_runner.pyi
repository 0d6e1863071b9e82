"""Made by tests/support/compat_stub.py from pipeline/compat/names.py."""

from pipeline.compat.queues.runner import QueueRunner as QueueRunner
from pipeline.compat.queues.runner import add_queue_runner as add_queue_runner
from pipeline.compat.queues.runner import start_queue_runners as start_queue_runners
