"""Mutants that run like the original, each with the reason: (file, line before, line after): why."""

EQUIVALENT: dict[tuple[str, str, str], str] = {
    (
        "pipeline/workers/generators.py",
        'np.random.set_state(("MT19937", self._words, _WORDS, 0, 0.0))',
        'np.random.set_state(("MT19937", self._words, _WORDS, -1, 0.0))',
    ): "this branch is for a NumPy whose generator has another layout in memory",
    (
        "pipeline/runners/coordinator.py",
        "if recorded is not None and self._told is None:",
        "if not recorded is not None and self._told is None:",
    ): "only without the GIL does it matter which thread gets the exception itself",
    (
        "pipeline/stages/functions.py",
        "alone: ClassVar[bool] = False",
        "alone: ClassVar[bool] = True",
    ): "neighbouring functions become a stage each: the same elements, slower",
    (
        "pipeline/stages/crew.py",
        "self._bell.wait(_SOON if self._patience is not None and self._ended is None else _LOOK)",
        "self._bell.wait(_SOON if not self._patience is not None and self._ended is None else _LOOK)",
    ): "how long a thread sleeps before it looks again; a bell wakes it",
    (
        "pipeline/workers/spares.py",
        "wanted = libraries | {needs.OWN} if self._preload is None else {needs.OWN, *self._preload}",
        "wanted = libraries & {needs.OWN} if self._preload is None else {needs.OWN, *self._preload}",
    ): "the libraries that are imported ahead: workers import the others themselves, later",
    (
        "pipeline/workers/server.py",
        "continue",
        "break",
    ): "ended servers are reaped when the next one is replaced",
    (
        "pipeline/stages/mixing.py",
        "block = self._one(picks[0]) if len(picks) == 1 else self._taken(np.array(picks, np.int64))",
        "block = self._one(picks[0]) if len(picks) == 2 else self._taken(np.array(picks, np.int64))",
    ): "a draw that is not taken is drawn again: fewer elements at once",
    (
        "pipeline/workers/auto.py",
        "_SECONDS, _CHUNKS = 0.25, 4",
        "_SECONDS, _CHUNKS = -0.75, 4",
    ): "periods end after some chunks alone: decisions come sooner; `make bench-auto` measures them",
    (
        "pipeline/stages/kept_rows.py",
        "if self._rows >= _ROWS or self._bytes >= _BYTES:",
        "if not self._rows >= _ROWS or self._bytes >= _BYTES:",
    ): "elements are written one at a time: the same files, slower",
    (
        "pipeline/stages/part.py",
        "@property",
        "",
    ): "a method is true, so parts always run as streams: the same elements, slower",
    (
        "pipeline/workers/process.py",
        "self._own = False",
        "self._own = True",
    ): "for systems without pidfd_open; on Linux a process without one is dead",
    (
        "pipeline/workers/executor.py",
        "_CHUNK_SECONDS, _FEW, _LONGEST = 0.016, 16, 8",
        "_CHUNK_SECONDS, _FEW, _LONGEST = 0.016, 15, 8",
    ): "the size of chunks: the same elements, with other delays",
    (
        "pipeline/stages/crew.py",
        "self._size = max(1, min(_MOST, best, 2 * self._size, int(_CHUNK_BYTES / (self._bytes + 1))))",
        "self._size = max(1, min(_MOST, best, 2 * self._size, int(_CHUNK_BYTES / (self._bytes + 2))))",
    ): "the size of chunks: the 1 is there for results of no bytes",
    (
        "pipeline/workers/line.py",
        '_CLOSED_IN_CHILDREN = getattr(socket, "MSG_CMSG_CLOEXEC", 0)',
        '_CLOSED_IN_CHILDREN = getattr(socket, "MSG_CMSG_CLOEXEC", -1)',
    ): "Linux has this flag; the default is for other systems",
    (
        "pipeline/stages/steps.py",
        "if len(steps) == 1 and type(steps[0]) is MapStep and not steps[0].skip:",
        "if len(steps) == 1 and type(steps[-1]) is MapStep and not steps[0].skip:",
    ): "the only step is the first and the last",
    (
        "pipeline/stages/pool.py",
        "self.source.take(1) # reaches the end, where a user's object may begin its next pass",
        "self.source.take(2) # reaches the end, where a user's object may begin its next pass",
    ): "the input has ended, so there is nothing to take",
    (
        "pipeline/workers/pool.py",
        "self._asleep, self._idle = {}, 0",
        "self._asleep, self._idle = {}, 1",
    ): "busy workers are sent fewer calls ahead: the same results, later",
    (
        "pipeline/stages/block.py",
        "return Block(Examples([]), np.empty(0, np.int64))",
        "return Block(Examples([]), np.empty(1, np.int64))",
    ): "nobody reads the numbers of an empty block",
    (
        "pipeline/stages/boundary.py",
        "wide = [self._longer(i, *each, boundary) for i, each in enumerate(zip(names, columns, strict=True))]",
        "wide = [self._longer(i, *each, boundary) for i, each in enumerate(zip(names, columns, strict=False))]",
    ): "a batch has as many columns as names",
    (
        "pipeline/stages/index.py",
        "ahead = True",
        "ahead = False",
    ): "examples are made one at a time: the same, slower",
    (
        "pipeline/stages/kept_rows.py",
        "quick = Gatherer(arrays) if arrays and gathers(arrays, rows) else None",
        "quick = Gatherer(arrays) if not arrays and gathers(arrays, rows) else None",
    ): "NumPy takes the rows: the same, slower",
    (
        "pipeline/datasets/moving.py",
        'return tuple(then.get("shard", (0, 1))), tuple(now.get("shard", (0, 1)))',
        'return tuple(then.get("shard", (-1, 1))), tuple(now.get("shard", (0, 1)))',
    ): "a program without shard= is compared only with one of several hosts",
    (
        "pipeline/workers/process.py",
        "UNGUARDED = 121",
        "UNGUARDED = 120",
    ): "an exit status that no other end has",
    (
        "pipeline/stages/crew.py",
        "if len(self._all) == 1 and self._ordered and each_a_row and not self._units:",
        "if len(self._all) != 1 and self._ordered and each_a_row and not self._units:",
    ): "other recipes write into the memory of a batch: the same elements, slower",
    (
        "pipeline/stages/stream.py",
        "return [FailedPreconditionError(None, None, self._once), 0]",
        "return [FailedPreconditionError(None, None, self._once), 1]",
    ): "a state with an error is refused, so nobody reads the number next to it",
    (
        "pipeline/stages/groups.py",
        "_BYTES = 1 << 20",
        "_BYTES = 0 << 20",
    ): "how many batches are made at once: the same batches, slower",
}
