"""FileWriter: writes summaries and the graph to event files for TensorBoard."""

from __future__ import annotations

import os
import time
import warnings
from typing import Any

from pipeline.compat.graph.definitions import graph_def as definition_of
from pipeline.compat.graph.graph import Graph
from pipeline.compat.graph.scopes import get_default_graph
from pipeline.files.event_file import EventFile
from pipeline.locks import Lock
from pipeline.proto.summary import Event, SessionLog, Summary

_LARGEST_CONSTANT = 1024  # elements; add_graph omits the values in larger constants


class FileWriter:
    """Writes an event file in a directory. Thread safe.

    Args:
        logdir: The directory; it is made if it does not exist.
        graph: A graph to write first.
        max_queue: Maximum number of buffered events.
        flush_secs: Maximum delay in seconds.
        graph_def: A GraphDef's bytes, instead of `graph`.
        filename_suffix: Suffix for the file name.
        session: Must be None, because TensorFlow 2 summaries do not exist here.
    """

    def __init__(
        self,
        logdir: Any,
        graph: Any = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        graph_def: Any = None,
        filename_suffix: str | None = None,
        session: Any = None,
    ) -> None:
        self._logdir = os.fsdecode(logdir)
        self._settings = max_queue, flush_secs, filename_suffix or ""
        self._lock = Lock()
        self._with_metadata: set[str] = set()
        self._closed = False
        self._file = EventFile(self._logdir, *self._settings)
        if graph is not None or graph_def is not None:
            self.add_graph(graph=graph, graph_def=graph_def)

    def get_logdir(self) -> str:
        """Return the directory."""
        return self._logdir

    def add_summary(self, summary: Any, global_step: Any = None) -> None:
        """Write a summary.

        Args:
            summary: A Summary, or a summary op's bytes.
            global_step: Step for these values.
        """
        made = Summary.FromString(summary) if isinstance(summary, bytes) else summary
        copy = None
        with self._lock:
            for i, value in enumerate(made.value):
                if not value.HasField("metadata"):
                    continue
                # Metadata is written once per tag in the file.
                if value.tag in self._with_metadata:
                    if copy is None:
                        copy = Summary.FromString(made.SerializeToString())
                    copy.value[i].ClearField("metadata")
                else:
                    self._with_metadata.add(value.tag)
        event = Event()
        event.summary.CopyFrom(made if copy is None else copy)
        event.summary.SetInParent()
        self._add(event, global_step)

    def add_session_log(self, session_log: Any, global_step: Any = None) -> None:
        """Write a SessionLog."""
        event = Event()
        event.session_log.CopyFrom(SessionLog() if session_log is None else session_log)
        event.session_log.SetInParent()
        self._add(event, global_step)

    def add_graph(self, graph: Any, global_step: Any = None, graph_def: Any = None) -> None:
        """Write a graph.

        Raises:
            ValueError: Both or neither of `graph` and `graph_def` are given.
            TypeError: `graph` is not a Graph.
        """
        if graph is not None and graph_def is not None:
            raise ValueError("Please pass only graph, or graph_def (deprecated), but not both.")
        if isinstance(graph, Graph):
            data = definition_of(graph.get_operations(), True, _LARGEST_CONSTANT).SerializeToString()
        elif isinstance(graph_def, bytes):
            data = graph_def
        elif graph is None and graph_def is None:
            raise ValueError("Please pass either a graph, or a graph_def.")
        else:
            raise TypeError(f"The passed graph must be an instance of `Graph`. Received: {type(graph or graph_def)}")
        self._add(Event(graph_def=data), global_step)

    def add_meta_graph(self, meta_graph_def: Any, global_step: Any = None) -> None:
        """Do nothing, because meta graphs do not exist here."""

    def add_run_metadata(self, run_metadata: Any, tag: str, global_step: Any = None) -> None:
        """Do nothing, because runs leave no metadata."""

    def add_event(self, event: Any) -> None:
        """Write an Event as is."""
        if self._closed:
            warnings.warn(
                "Attempting to use a closed FileWriter. The operation will be a noop unless the FileWriter is "
                "explicitly reopened.",
                stacklevel=3,
            )
            return
        self._file.write(event.SerializeToString())

    def _add(self, event: Any, step: Any) -> None:
        event.wall_time = time.time()
        if step is not None:
            event.step = int(step)
        self.add_event(event)

    def flush(self) -> None:
        """Write all waiting events to the file."""
        if not self._closed:
            self._file.flush()

    def close(self) -> None:
        """Write all waiting events to the file and close it."""
        with self._lock:
            self._closed = True
            self._file.close()

    def reopen(self) -> None:
        """After `close`, continue in a new file; otherwise do nothing."""
        with self._lock:
            if self._closed:
                self._file = EventFile(self._logdir, *self._settings)
                self._closed = False

    def __enter__(self) -> FileWriter:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


class FileWriterCache:
    """One FileWriter per directory; thread safe."""

    _cache: dict[str, FileWriter] = {}  # noqa: RUF012
    _lock = Lock()

    @staticmethod
    def get(logdir: Any) -> FileWriter:
        """Return a directory's writer, made on first use."""
        with FileWriterCache._lock:
            if logdir not in FileWriterCache._cache:
                FileWriterCache._cache[logdir] = FileWriter(logdir, graph=get_default_graph())
            return FileWriterCache._cache[logdir]

    @staticmethod
    def clear() -> None:
        """Close and drop all writers."""
        with FileWriterCache._lock:
            for each in FileWriterCache._cache.values():
                each.close()
            FileWriterCache._cache = {}
