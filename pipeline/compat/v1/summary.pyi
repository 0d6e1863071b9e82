"""Made by tests/support/compat_stub.py from pipeline/compat/names.py."""

from pipeline.compat.ops.summaries.summary import histogram as histogram
from pipeline.compat.ops.summaries.summary import image as image
from pipeline.compat.ops.summaries.summary import merge as merge
from pipeline.compat.ops.summaries.summary import merge_all as merge_all
from pipeline.compat.ops.summaries.summary import scalar as scalar
from pipeline.compat.ops.summaries.writer import FileWriter as FileWriter
from pipeline.compat.ops.summaries.writer import FileWriterCache as FileWriterCache
from pipeline.watch.summary_proto import Event as Event
from pipeline.watch.summary_proto import SessionLog as SessionLog
from pipeline.watch.summary_proto import Summary as Summary
from pipeline.watch.summary_proto import SummaryDescription as SummaryDescription
from pipeline.watch.summary_proto import TaggedRunMetadata as TaggedRunMetadata
