"""The error classes: codes, constructors, texts, built-in bases."""

import copy
import pickle

import pytest

import pipeline
from pipeline import errors

CODES = {
    "CancelledError": 1,
    "UnknownError": 2,
    "InvalidArgumentError": 3,
    "DeadlineExceededError": 4,
    "NotFoundError": 5,
    "AlreadyExistsError": 6,
    "PermissionDeniedError": 7,
    "ResourceExhaustedError": 8,
    "FailedPreconditionError": 9,
    "AbortedError": 10,
    "OutOfRangeError": 11,
    "UnimplementedError": 12,
    "InternalError": 13,
    "UnavailableError": 14,
    "DataLossError": 15,
    "UnauthenticatedError": 16,
}
BUILT_IN = {
    "InvalidArgumentError": ValueError,
    "NotFoundError": FileNotFoundError,
    "DeadlineExceededError": TimeoutError,
}
each = pytest.mark.parametrize("name", CODES)


@each
def test_codes(name):
    cls = getattr(errors, name)
    error = cls(None, None, "x")
    assert error.error_code == CODES[name]
    assert errors.exception_type_from_error_code(CODES[name]) is cls
    assert errors.error_code_from_exception_type(cls) == CODES[name]


@each
def test_attributes(name):
    error = getattr(errors, name)("node", "op", "what happened\nand why")
    assert (error.node_def, error.op, error.message) == ("node", "op", "what happened\nand why")
    assert str(error) == "what happened\nand why"
    assert isinstance(error, errors.OpError)
    assert isinstance(error, Exception)


@each
@pytest.mark.parametrize("again", [copy.copy, lambda error: pickle.loads(pickle.dumps(error))], ids=["copy", "pickle"])
def test_copies(name, again):
    error = getattr(errors, name)("node", None, "x")
    error.note = "more"
    twin = again(error)
    assert type(twin) is type(error)
    assert (str(twin), twin.node_def, twin.op, twin.error_code, twin.note) == ("x", "node", None, CODES[name], "more")


@each
def test_they_are_in_the_package_too(name):
    assert getattr(pipeline, name) is getattr(errors, name)


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_bases(name):
    cls = getattr(errors, name)
    assert issubclass(cls, BUILT_IN[name])
    with pytest.raises(BUILT_IN[name], match=r"^text$"):
        raise cls(None, None, "text")


def test_classes_do_not_catch_each_other():
    classes = [getattr(errors, name) for name in CODES]
    assert all(not issubclass(a, b) for a in classes for b in classes if a is not b)


def test_the_base_takes_a_code():
    error = errors.OpError(None, None, "x", 11)
    assert (str(error), error.error_code) == ("x", 11)


def test_codes_that_do_not_exist():
    with pytest.raises(KeyError):
        errors.exception_type_from_error_code(99)
