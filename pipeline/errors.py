"""The pipeline's error classes, with TensorFlow's names and codes.

If Python has a built-in exception for the same error, the class derives from it too, so `except ValueError` and
`except TimeoutError` work as you expect.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import starmap
from typing import Any

__all__ = [
    "ABORTED",
    "ALREADY_EXISTS",
    "CANCELLED",
    "DATA_LOSS",
    "DEADLINE_EXCEEDED",
    "FAILED_PRECONDITION",
    "INTERNAL",
    "INVALID_ARGUMENT",
    "NOT_FOUND",
    "OK",
    "OUT_OF_RANGE",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "UNAUTHENTICATED",
    "UNAVAILABLE",
    "UNIMPLEMENTED",
    "UNKNOWN",
    "AbortedError",
    "AlreadyExistsError",
    "CancelledError",
    "DataLossError",
    "DeadlineExceededError",
    "FailedPreconditionError",
    "InternalError",
    "InvalidArgumentError",
    "NotFoundError",
    "OpError",
    "OutOfRangeError",
    "PermissionDeniedError",
    "ResourceExhaustedError",
    "StateMismatchError",
    "UnauthenticatedError",
    "UnavailableError",
    "UnimplementedError",
    "UnknownError",
    "error_code_from_exception_type",
    "exception_type_from_error_code",
]

OK = 0
CANCELLED = 1
UNKNOWN = 2
INVALID_ARGUMENT = 3
DEADLINE_EXCEEDED = 4
NOT_FOUND = 5
ALREADY_EXISTS = 6
PERMISSION_DENIED = 7
RESOURCE_EXHAUSTED = 8
FAILED_PRECONDITION = 9
ABORTED = 10
OUT_OF_RANGE = 11
UNIMPLEMENTED = 12
INTERNAL = 13
UNAVAILABLE = 14
DATA_LOSS = 15
UNAUTHENTICATED = 16


class OpError(Exception):
    """Base class for the errors raised by pipeline operations.

    Args:
        node_def: The failed graph node's definition, or None.
        op: The failed graph operation, or None.
        message: Description of the error.
        error_code: A code from this module; None for the class's own code.

    Attributes:
        definition: A function that makes `node_def` when it is first read, or None.
        stored: Number of elements from the failed `enqueue` or `enqueue_many` that are in the queue and stay there;
            None if no enqueue failed, or the number is unknown.

    Examples:
        >>> queue = pipeline.FIFOQueue(2, "int32", [()])
        >>> queue.close()
        >>> try:
        ...     queue.dequeue()
        ... except pipeline.errors.OpError as error:  # whatever a queue raises
        ...     print(type(error).__name__, error.error_code)
        OutOfRangeError 11
    """

    error_code = UNKNOWN
    definition: Callable[[], Any] | None = None
    stored: int | None = None

    def __init__(self, node_def: Any, op: Any, message: str, error_code: int | None = None) -> None:
        Exception.__init__(self, node_def, op, message)
        self._node_def = node_def
        self.op = op
        self.message = message
        if error_code is not None:
            self.error_code = error_code

    @property
    def node_def(self) -> Any:
        """The failed graph node's definition, or None.

        Raises:
            ImportError: It is a message, and protobuf is missing.
        """
        if self._node_def is None and self.definition is not None:
            self._node_def = self.definition()
        return self._node_def

    def __str__(self) -> str:
        return self.message

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.message!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.node_def, self.op, self.message), {**self.__dict__, "definition": None}


class CancelledError(OpError):
    """A call was cancelled, or an element was enqueued into a closed queue.

    Examples:
        >>> queue = pipeline.FIFOQueue(2, "int32", [()])
        >>> queue.close()
        >>> try:
        ...     queue.enqueue(1)
        ... except pipeline.errors.CancelledError:
        ...     print("nobody wants more elements")
        nobody wants more elements
    """

    error_code = CANCELLED


class UnknownError(OpError):
    """An error without its own class."""

    error_code = UNKNOWN


class InvalidArgumentError(OpError, ValueError):
    """A value, shape, dtype or count is not valid for this call.

    Examples:
        >>> try:
        ...     list(pipeline.dataset([[1, 2], [3]]).map(np.array).batch(2))
        ... except pipeline.errors.InvalidArgumentError:  # or ValueError
        ...     print("rows of one batch differ in length")
        rows of one batch differ in length
    """

    error_code = INVALID_ARGUMENT


class DeadlineExceededError(OpError, TimeoutError):
    """A call did not finish within its `timeout`; nothing was lost.

    Examples:
        >>> queue = pipeline.FIFOQueue(2, "int32", [()])
        >>> try:
        ...     queue.dequeue(timeout=0.01)
        ... except pipeline.errors.DeadlineExceededError:  # or TimeoutError
        ...     print("nothing came")
        nothing came
    """

    error_code = DEADLINE_EXCEEDED


class NotFoundError(OpError, FileNotFoundError):
    """A file does not exist.

    Examples:
        >>> try:
        ...     next(iter(pipeline.text("missing.txt")))
        ... except pipeline.errors.NotFoundError:  # or FileNotFoundError
        ...     print("no such file")
        no such file
    """

    error_code = NOT_FOUND


class AlreadyExistsError(OpError, FileExistsError):
    """Something that the call should create already exists.

    Examples:
        >>> issubclass(pipeline.errors.AlreadyExistsError, FileExistsError)
        True
    """

    error_code = ALREADY_EXISTS


class PermissionDeniedError(OpError, PermissionError):
    """The caller lacks the permission for this.

    Examples:
        >>> issubclass(pipeline.errors.PermissionDeniedError, PermissionError)
        True
    """

    error_code = PERMISSION_DENIED


class ResourceExhaustedError(OpError):
    """A resource is used up or a limit is exceeded.

    Examples:
        >>> with open("long.txt", "w") as file:
        ...     _ = file.write("x" * 1000)
        >>> names = pipeline.FIFOQueue(1, "string", [()])
        >>> names.enqueue("long.txt")
        >>> try:
        ...     pipeline.TextLineReader(max_record_bytes=100).read(names)
        ... except pipeline.errors.ResourceExhaustedError:
        ...     print("a line is longer than it may be")
        a line is longer than it may be
    """

    error_code = RESOURCE_EXHAUSTED


class FailedPreconditionError(OpError):
    """The system is not in the required state.

    Attributes:
        uninitialized: The graph's variable without a value; None if there is another reason.

    Examples:
        >>> numbers = iter(pipeline.dataset(iter([1, 2, 3])))
        >>> try:
        ...     numbers.state_dict()
        ... except pipeline.errors.FailedPreconditionError:
        ...     print("an iterator cannot be rewound")
        an iterator cannot be rewound
    """

    error_code = FAILED_PRECONDITION
    uninitialized: str | None = None


class AbortedError(OpError):
    """The call was aborted.

    Examples:
        >>> def load(path):
        ...     raise pipeline.errors.AbortedError(None, None, f"{path}: the server went away")
        >>> list(pipeline.dataset(["a.csv"]).map(load, on_error="skip"))
        []
    """

    error_code = ABORTED


class OutOfRangeError(OpError):
    """The input is used up: a closed queue has too few elements, or the last epoch is over.

    Examples:
        >>> queue = pipeline.FIFOQueue(2, "int32", [()])
        >>> queue.enqueue(1)
        >>> queue.close()
        >>> try:
        ...     queue.dequeue_many(2)
        ... except pipeline.errors.OutOfRangeError:
        ...     print("only", len(queue.dequeue_up_to(2)), "left")
        only 1 left
    """

    error_code = OUT_OF_RANGE


class UnimplementedError(OpError, NotImplementedError):
    """The call is not supported by this object.

    Examples:
        >>> try:
        ...     pipeline.TFRecordReader().serialize_state()
        ... except pipeline.errors.UnimplementedError:
        ...     print("use a dataset, which has states")
        use a dataset, which has states
    """

    error_code = UNIMPLEMENTED


class InternalError(OpError):
    """A library invariant is broken."""

    error_code = INTERNAL


class UnavailableError(OpError):
    """Something required for the call is currently unavailable.

    Examples:
        >>> def load(path):
        ...     raise pipeline.errors.UnavailableError(None, None, f"{path}: the server does not answer")
        >>> paths = iter(pipeline.dataset(["a.csv"]).map(load, on_error="skip"))
        >>> list(paths), paths.num_errors
        ([], 1)
    """

    error_code = UNAVAILABLE


class DataLossError(OpError):
    """Data is corrupt or truncated beyond recovery.

    Examples:
        >>> with open("damaged.tfrecord", "wb") as file:
        ...     _ = file.write(b"not a TFRecord file")
        >>> try:
        ...     list(pipeline.tfrecord("damaged.tfrecord"))
        ... except pipeline.errors.DataLossError:
        ...     print("write or copy the file again")
        write or copy the file again
    """

    error_code = DATA_LOSS


class UnauthenticatedError(OpError):
    """The caller has no valid credentials."""

    error_code = UNAUTHENTICATED


class StateMismatchError(InvalidArgumentError):
    """A state does not fit the dataset or its files.

    Nothing has changed. TensorFlow has no such error.

    Args:
        differences: A tuple (what, saved, here) for each difference; None where one side has nothing.
        message: One line per difference, or only the first lines if there are many; by default made from the tuples.

    Attributes:
        differences: The tuples as a list.

    Examples:
        >>> state = iter(pipeline.dataset(range(8)).batch(2)).state_dict()
        >>> try:
        ...     iter(pipeline.dataset(range(8)).batch(4)).load_state_dict(state)
        ... except pipeline.errors.StateMismatchError as error:
        ...     print(error)
        batch: batch_size was 2 when the state was saved and is 4 now
    """

    def __init__(self, differences: Sequence[tuple[str, Any, Any]], message: str | None = None) -> None:
        self.differences = list(differences)
        super().__init__(None, None, "\n".join(starmap(told, differences)) if message is None else message)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.differences, self.message), {**self.__dict__}


_BY_CODE: dict[int, type[OpError]] = {kind.error_code: kind for kind in reversed(OpError.__subclasses__())}


def exception_type_from_error_code(error_code: int) -> type[OpError]:
    """Return the error class for an `error_code`; KeyError for an unknown code.

    Examples:
        >>> pipeline.errors.exception_type_from_error_code(pipeline.errors.OUT_OF_RANGE).__name__
        'OutOfRangeError'
    """
    return _BY_CODE[error_code]


def error_code_from_exception_type(cls: type[OpError]) -> int:
    """Return the code for the error class `cls`; UNKNOWN for a class without one.

    Examples:
        >>> pipeline.errors.error_code_from_exception_type(pipeline.errors.OutOfRangeError)
        11
    """
    return cls.error_code if cls in _BY_CODE.values() else UNKNOWN


def invalid(message: str) -> InvalidArgumentError:
    """Make an InvalidArgumentError with this text."""
    return InvalidArgumentError(None, None, message)


def told(what: str, saved: Any, here: Any) -> str:
    """Return the line about one difference in a StateMismatchError."""
    then, now = ("not given" if value is None else repr(value) for value in (saved, here))
    return f"{what} was {then} when the state was saved and is {now} now"


def show(shape: tuple[int | None, ...]) -> str:
    """Format a shape as error texts print it: `[3,?]`."""
    return "[" + ",".join("?" if size is None else str(size) for size in shape) + "]"


def __dir__() -> list[str]:
    return list(__all__)
