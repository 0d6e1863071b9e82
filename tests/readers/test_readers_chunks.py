"""TextLineReader at chunk boundaries: files are read in chunks, without any effect on results."""

from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from orchestration import closed_queue, drain

from pipeline import TextLineReader
from pipeline.files.read_buffer import ReadBuffer


def expected(content, skip):
    """Return a file's lines, by the rules."""
    *lines, last = content.split(b"\n")
    lines = [line[:-1] if line.endswith(b"\r") else line for line in lines]
    last = last[:-1] if last.endswith(b"\r") else last
    return list(enumerate(lines + ([last] if last else []), 1))[skip:]


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.sampled_from([b"a", b"bc", b"\n", b"\r", b"\r\n", b"\n\n", b"\0"]), max_size=30).map(b"".join),
    st.integers(1, 8),
    st.integers(1, 5),
    st.integers(0, 3),
)
def test_chunks_of_any_size(tmp_path, content, chunk, block, skip):
    file = tmp_path / "file"
    file.write_bytes(content)
    name = str(file).encode()
    reader, queue = TextLineReader(skip_header_lines=skip), closed_queue([file])
    with mock.patch.object(ReadBuffer, "CHUNK", chunk):
        got = [pair for part in drain(lambda: reader.read_up_to(queue, block)) for pair in zip(*part, strict=True)]
    assert got == [(b"%b:%d" % (name, number), line) for number, line in expected(content, skip)]
    assert reader.num_work_units_completed() == 1


@pytest.mark.parametrize("size", [600_000, 262_143, 262_144, 262_145])
def test_long_lines(tmp_path, size):
    file = tmp_path / "file"
    file.write_bytes(b"x" * size + b"\r\n" + b"y" * size)
    reader, queue = TextLineReader(), closed_queue([file])
    assert reader.read(queue).value == b"x" * size
    assert reader.read(queue).value == b"y" * size


def test_many_lines_one_by_one_and_in_blocks(tmp_path):
    file = tmp_path / "file"
    lines = [b"%d" % (i * 7919) for i in range(100_000)]
    file.write_bytes(b"\n".join(lines))
    for take in (1, 999, 1_000_000):
        reader, queue = TextLineReader(), closed_queue([file])
        blocks = drain(lambda reader=reader, queue=queue, take=take: reader.read_up_to(queue, take))
        assert [line for block in blocks for line in block.values] == lines
