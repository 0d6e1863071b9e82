"""WholeFileReader and IdentityReader save and restore their state."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from orchestration import closed_queue
from reading import counts, read_all

from pipeline.decode.wire import WireError
from pipeline.errors import InvalidArgumentError, NotFoundError
from pipeline.readers.state import ReaderState
from pipeline.readers.whole import IdentityReader, WholeFileReader

AFTER_TWO = bytes.fromhex("08 02 10 02 18 02 22 02 42 43")


def read_two():
    reader = IdentityReader()
    queue = closed_queue(["A", "BC"])
    assert reader.read(queue) == (b"A", b"A")
    assert reader.read(queue) == (b"BC", b"BC")
    return reader


def test_identity():
    reader, queue = IdentityReader(), closed_queue(["A", "BC", ""])
    keys, values = reader.read_up_to(queue, 9)  # one record is one work item
    assert (list(keys), values) == ([b"A"], [b"A"])
    assert read_all(reader, ["x", ""]) == [b"x x", b" "]
    assert counts(reader) == (3, 3)


def test_whole_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    contents = {"a": b"one\0two\n", "empty": b"", "large": b"x" * 3_000_000}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    reader = WholeFileReader()
    assert read_all(reader, contents) == [b"%b %b" % (name.encode(), content) for name, content in contents.items()]
    assert counts(reader) == (3, 3)


def test_missing_whole_file_is_an_error_until_reset(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    reader, queue = WholeFileReader(), closed_queue(["late", "late"])
    for _ in range(3):
        with pytest.raises(NotFoundError, match="late; No such file or directory"):
            reader.read(queue)
    assert queue.size() == 1
    saved = reader.serialize_state()
    reader.reset()
    with pytest.raises(InvalidArgumentError, match=r"Inconsistent work started vs\. finished when restoring in Whole"):
        reader.restore_state(saved)
    with pytest.raises(NotFoundError):
        reader.read(queue)
    (tmp_path / "late").write_bytes(b"now")
    assert reader.read(queue) == (b"late", b"now")


def test_state():
    assert IdentityReader().serialize_state() == b""
    assert read_two().serialize_state() == AFTER_TWO
    for reader in (IdentityReader(), WholeFileReader()):
        assert reader.supports_serialize
        reader.restore_state(AFTER_TWO)
        assert counts(reader) == (2, 2)
        assert reader.serialize_state() == AFTER_TWO
        reader.restore_state(b"")
        assert reader.serialize_state() == b""


@pytest.mark.parametrize(
    ("state", "text"),
    [
        (b"\xff\n", r"Could not parse state for IdentityReader 'mine': \\377\\n"),
        (b"\x08", "Could not parse state"),
        (b"\x22\x05ab", "Could not parse state"),
        (b"\x00\x01", "Could not parse state"),
        (b"\x0b\x08\x01", "Could not parse state"),
        (b"\x0c", "Could not parse state"),
        (b"\x08" + b"\xff" * 10 + b"\x01", "Could not parse state"),
        (b"\x18" + b"\xff" * 9 + b"\x01", "Unexpected negative value when restoring in IdentityReader 'mine'"),
        (b"\x08\x02\x10\x01", r"Inconsistent work started vs\. finished when restoring in"),
    ],
)
def test_failed_restore_resets_the_reader(state, text):
    reader = IdentityReader("mine")
    reader.restore_state(AFTER_TWO)
    with pytest.raises(InvalidArgumentError, match=text):
        reader.restore_state(state)
    assert counts(reader) == (0, 0)
    assert reader.serialize_state() == b""


def test_states_that_are_odd_and_right():
    reader = IdentityReader()
    reader.restore_state(b"\x10\x05\x08\x03")  # more work items finished than started
    assert counts(reader) == (0, 5)
    assert reader.read(closed_queue(["x"])) == (b"x", b"x")
    assert counts(reader) == (1, 4)
    unknown = b"\x30\x07\x3a\x01z\x45abcd\x49abcdefgh\x53\x08\x09\x54"
    reader.restore_state(unknown + AFTER_TWO)
    assert reader.serialize_state() == AFTER_TWO
    reader.restore_state(b"\x08\x09" + AFTER_TWO)  # the last one counts
    assert reader.serialize_state() == AFTER_TWO


def test_state_that_is_not_one_string():
    with pytest.raises(ValueError, match="scalar"):
        IdentityReader().restore_state([AFTER_TWO])
    with pytest.raises(TypeError, match="state must be bytes, got int"):
        IdentityReader().restore_state(7)


int64s = st.integers(0, 2**63 - 1)


@given(
    st.builds(
        ReaderState,
        work_started=int64s,
        work_finished=int64s,
        num_records_produced=int64s,
        current_work=st.binary(),
    )
)
def test_states_come_back(state):
    assert ReaderState.from_bytes(state.to_bytes()) == state


@given(st.binary(max_size=40))
def test_any_bytes_are_a_state_or_an_error(message):
    try:
        state = ReaderState.from_bytes(message)
    except WireError:
        return
    assert len(state.to_bytes()) <= 4 + 3 * 10 + len(message)
