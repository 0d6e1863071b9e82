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
}
