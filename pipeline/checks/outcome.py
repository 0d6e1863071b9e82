"""CheckFailed and Checked: the result of a check, as an error or as a list."""

from __future__ import annotations


class CheckFailed(AssertionError):
    """A dataset or a source breaks a promise that exact resumes need.

    The message names the check, the element, the expected value, the step of your dataset that is to blame, and the
    call that repeats this check alone.

    Attributes:
        check: The name of the check, such as "resume".
        when: The circumstances, such as "after a resume before element 3".
        element: The number of the element in the pass, from 0; None if the check is not about one element.
        where: The place within the element, such as "['image'][2]"; "" for the element itself.
        expected, got: What was expected, and what there was instead, as text.
        resumed_at: The number of the element before which the dataset was resumed; None if it was not.
        step: The first step of the dataset that fails this check; "" if that is not known.
        hint: The usual causes; "" for none.
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
    """A check has nothing to look at; its text says why."""


class Checked:
    """The checks that a dataset or a source has passed. Printing it lists them.

    Attributes:
        passed: What each check looked at, by its name.
        skipped: Why a check had nothing to look at, by its name.

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
