"""CheckFailed and Checked: a check's result, as an error or as a list."""

from __future__ import annotations


class CheckFailed(AssertionError):
    """Raised if a dataset or source breaks a promise that exact resuming relies on.

    The message names the check, the element, the expected value, the dataset step to blame, and the call that repeats
    this check alone.

    Attributes:
        check: The check's name, such as "resume".
        when: The circumstances, such as "after a resume before element 3".
        element: Index of the element in the epoch, from 0; None if the check is not about one element.
        where: The place within the element, such as "['image'][2]"; "" for the element itself.
        expected, got: The two values, as text.
        resumed_at: Index of the element before which the dataset was resumed; None if it was not.
        step: The first dataset step that fails this check; "" if unknown.
        hint: Usual causes; "" for none.
        replay: The call that repeats this check alone.

    Examples:
        >>> import itertools
        >>> from pipeline.testing import CheckFailed, check_resume
        >>> counter = itertools.count()
        >>> data = pipeline.dataset([1, 2]).map(lambda number: number + next(counter))
        >>> try:
        ...     check_resume(data)
        ... except CheckFailed as failed:
        ...     print(failed.check, failed.element, failed.expected, failed.got)
        again 0 1 3
    """

    def __init__(self, when: str, element: int | None, expected: str, got: str, where: str = "") -> None:
        super().__init__(when, element, expected, got, where)
        self.when, self.element, self.expected, self.got, self.where = when, element, expected, got, where
        self.check = self.step = self.hint = self.replay = ""
        self.resumed_at: int | None = None

    def __str__(self) -> str:
        what = "" if self.element is None else f"element {self.element} "
        lines = [
            ("", f"{self.check}: {what}{self.when}"),
            ("where", self.where),
            ("expected", self.expected),
            ("got", self.got),
            ("step", self.step),
            ("cause", self.hint),
            ("replay", self.replay),
        ]
        return "\n".join(f"  {name + ':':<10}{text}" if name else text for name, text in lines if text)


class NotApplicable(Exception):
    """A check does not apply; the text gives the reason."""


class Checked:
    """The checks passed by a dataset or source. Printing it lists them.

    Attributes:
        passed: Dict from check names to a summary, such as "3 elements in 2 passes".
        skipped: Dict from check names to the reason for skipping them.

    Examples:
        >>> from pipeline.testing import check_resume
        >>> checked = check_resume(pipeline.dataset(range(5)).batch(2))
        >>> sorted(checked.passed)
        ['again', 'hosts', 'index', 'length', 'resume', 'resumed']
        >>> checked.skipped["workers"]
        'no step calls a function of yours that workers may call'
    """

    def __init__(self, passed: dict[str, str], skipped: dict[str, str]) -> None:
        self.passed, self.skipped = passed, skipped

    def __repr__(self) -> str:
        lines = [f"{name}: {text}" for name, text in self.passed.items()]
        lines += [f"{name}: not checked, {reason}" for name, reason in self.skipped.items()]
        return "\n".join(lines)
