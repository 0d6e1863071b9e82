"""StaysHere: what belongs to the threads of this process, and says so where it would be pickled or copied."""

from __future__ import annotations

from typing import Any, NoReturn


class StaysHere:
    """A loop, with its threads, queue and locks."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        """Raise TypeError: `pickle` and `copy` would fail at the first lock, or share the threads of the loop."""
        raise TypeError(
            f"{self!r} cannot be pickled or copied: it belongs to the threads of this process. To go on from its place "
            "elsewhere, pass the state_dict() of a loop with deterministic=True to load_state_dict of another; for "
            "another process, pass an importable function that makes the loop there"
        )
