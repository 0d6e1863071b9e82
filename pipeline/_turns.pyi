from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

from typing_extensions import Self

from pipeline._tickets import Window
from pipeline.pulls import Book

class Baton:
    ticket: int
    note_at: int
    begun: int
    room_until: int
    def __new__(cls) -> Self: ...
    def begin(self, turn: Turn) -> bool: ...
    def begin_alone(self, turn: Turn) -> bool: ...
    def take(self) -> bool: ...
    def wait(self, seconds: float) -> bool: ...
    def pass_on(self) -> None: ...

class Turn:
    ticket: int
    place: int
    lane: int
    number: int | None
    passes_at: int
    baton: Baton | None
    usual: tuple[Any, ...] | None
    held: bool
    alone: bool
    pulls: int
    how: tuple[Any, ...] | None
    ids: list[Any]
    boundary: tuple[int, int] | None
    given: Any
    def __new__(cls, book: Book, ticket: int, place: int = 0, lane: int = 0) -> Self: ...
    @property
    def book(self) -> Book: ...
    def begin(self, ticket: int, place: int) -> None: ...
    def pulling(self, thing: Any, *how: Any) -> Self: ...
    def pull(self, how: tuple[Any, ...]) -> None: ...
    def pulled(self) -> None: ...
    def together(self) -> Self: ...
    def element(self) -> int | None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...

class Calls:
    def __new__(
        cls,
        turns: Any,
        baton: Baton,
        window: Window[Any] | None,
        wait: Callable[[int], None],
        function: Callable[[], Any],
        to_components: Callable[[Any], Sequence[Any]],
        number_of: Callable[[Turn], Any],
        put: Callable[[tuple[Any, ...]], None],
        store: Callable[[Any], None],
        stopped: Callable[[], bool],
    ) -> Self: ...
    def move(self, turn: Turn, worker: Any) -> Exception | None: ...
