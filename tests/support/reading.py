"""Helpers for tests of readers."""

import gzip
import zlib

from orchestration import closed_queue, drain

PACK = {"": bytes, "GZIP": gzip.compress, "ZLIB": zlib.compress}


def read_all(reader, names):
    """Return all records in the files, as text `key value`."""
    queue = closed_queue(names)
    return [b" ".join(record) for record in drain(lambda: reader.read(queue))]


def counts(reader):
    return reader.num_records_produced(), reader.num_work_units_completed()
