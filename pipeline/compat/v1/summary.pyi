"""Made by tests/support/compat_stub.py from pipeline/compat/names.py."""

from pipeline.compat.ops.summaries.summary import (
    histogram as histogram, image as image, merge as merge, merge_all as merge_all, scalar as scalar,
)
from pipeline.compat.ops.summaries.writer import FileWriter as FileWriter, FileWriterCache as FileWriterCache
from pipeline.proto.summary import (
    Event as Event, SessionLog as SessionLog, Summary as Summary, SummaryDescription as SummaryDescription,
    TaggedRunMetadata as TaggedRunMetadata,
)
