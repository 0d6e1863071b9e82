"""CSV files are decoded in whole pieces, however few rows are requested at a time."""

import gzip

import numpy as np
import pytest

import pipeline
from pipeline.files.read_buffer import ReadBuffer
from pipeline.sources import csv, csv_syntax, text


def write(path, rows, change=str):
    lines = [f"{i},{i / 4},t{i}" for i in range(rows)]
    path.write_text("\n".join(["n,quarter,text", *map(change, lines)]) + "\n")
    return pipeline.csv(str(path), dtypes={"n": "int64", "quarter": "float64"})


def expect(batch, first, count):
    assert batch["n"].tolist() == list(range(first, first + count))
    assert batch["quarter"].tolist() == [i / 4 for i in range(first, first + count)]
    assert batch["text"].tolist() == [f"t{i}" for i in range(first, first + count)]


@pytest.mark.parametrize("num_threads", [0, 1])
def test_a_piece_is_decoded_once(tmp_path, monkeypatch, num_threads):
    source, calls, decode_block = write(tmp_path / "a.csv", 1000), [], csv.decode_block
    monkeypatch.setattr(csv, "decode_block", lambda *given: calls.append(given) or decode_block(*given))
    for i, batch in enumerate(pipeline.batch(source, 10, num_threads=num_threads)):
        expect(batch, 10 * i, 10)
    assert (i, len(calls)) == (99, 1)


def test_rows_before_a_wrong_one_come_first(tmp_path):
    source = write(tmp_path / "a.csv", 1000, lambda line: line.replace("777,", "x,", 1))
    batches = pipeline.batch(source, 10, num_threads=0, capacity=10)
    for i in range(77):
        expect(next(batches), 10 * i, 10)
    with pytest.raises(pipeline.errors.InvalidArgumentError, match=r"a\.csv, line 779: column 'n'") as caught:
        next(batches)
    assert caught.value.record_key.endswith(b"a.csv:779")


def test_wrong_rows_alone_are_left_out(tmp_path):
    source = write(tmp_path / "a.csv", 1000, lambda line: "x" + line if line.startswith("77") else line)
    batches = pipeline.batch(source, 10, on_error="skip", allow_smaller_final_batch=True)
    found = np.concatenate([batch["n"] for batch in batches])
    assert found.tolist() == [i for i in range(1000) if not str(i).startswith("77")]


def test_a_loop_goes_on_in_the_middle_of_a_piece(tmp_path):
    source = write(tmp_path / "a.csv", 1000)
    batches = pipeline.batch(source, 10, deterministic=True)
    for _ in range(33):
        next(batches)
    state = batches.state_dict()
    others = pipeline.batch(source, 10, deterministic=True)
    others.load_state_dict(state)
    for i, batch in enumerate(others, 33):
        expect(batch, 10 * i, 10)
    assert i == 99


class TestManyWrongRows:
    """An error's cost does not grow with the wrong rows before it."""

    @staticmethod
    def counted(monkeypatch, module, name):
        calls, function = [], getattr(module, name)
        monkeypatch.setattr(module, name, lambda *given, **options: calls.append(given) or function(*given, **options))
        return calls

    @pytest.mark.parametrize("quoted", [False, True])
    def test_their_lines_are_found_without_cutting_again(self, tmp_path, monkeypatch, quoted):
        path, rows = tmp_path / "a.csv", 2000
        name = '"a\n\nname"' if quoted else "name"
        right = [f"{i},{name}" for i in range(rows)]
        wrong = [f"x,{name}\n" if i % 3 else f"x,{name}" for i in range(rows)]  # with empty lines among them
        path.write_text("\n".join(["n,name", *right, *wrong, *right]) + "\n")
        cuts = self.counted(monkeypatch, csv_syntax, "cut_records")
        batches = pipeline.batch(pipeline.csv(str(path)), 100, on_error="skip", num_threads=0)
        assert sum(len(batch["n"]) for batch in batches) == 2 * rows
        assert len(cuts) < 10

    def test_the_file_is_not_read_again_for_each_piece(self, tmp_path, monkeypatch):
        monkeypatch.setattr(ReadBuffer, "CHUNK", 1 << 10)
        path = tmp_path / "a.csv.gz"
        rows = ["1,2" if (i + 1) % 7 else "x,2" for i in range(7000)]
        path.write_bytes(gzip.compress("\n".join(["a,b", *rows]).encode()))
        source = pipeline.csv(str(path), dtypes=int)
        opens = self.counted(monkeypatch, text, "open_file")
        batches = pipeline.batch(source, 100, on_error="skip", num_threads=0)
        assert sum(len(batch["a"]) for batch in batches) == 6000
        assert len(opens) == 2  # once for the rows, and once for the lines before them

    @pytest.mark.parametrize("num_threads", [0, 3])
    @pytest.mark.parametrize("resumed", [False, True])
    def test_each_error_tells_its_line(self, tmp_path, monkeypatch, num_threads, resumed):
        """The private `_told` is patched because skipped errors are only counted, not reported individually."""
        monkeypatch.setattr(ReadBuffer, "CHUNK", 1 << 9)
        path, lines, line = tmp_path / "a.csv", ["a,b"], 1
        wrong = []
        for i in range(2000):
            text = "\n" * (i % 5 == 0) + (f"x{i}" if i % 7 == 3 else str(i)) + ("," if i % 11 else ',"a\n\n\nb"')
            if i % 7 == 3:
                wrong.append(line + 1 + (i % 5 == 0))
            line += 1 + text.count("\n")
            lines.append(text)
        path.write_text("\n".join(lines) + "\n")
        source = pipeline.csv(str(path), dtypes={"a": int, "b": bytes})
        if resumed:
            with pipeline.batch(source, 1, on_error="skip", deterministic=True) as batches:
                while int(next(batches)["a"][0]) < 499:
                    pass
                state = batches.state_dict()
            batches = pipeline.batch(source, 1, on_error="skip", deterministic=True)
            batches.load_state_dict(state)
        else:
            batches = pipeline.batch(source, 10, on_error="skip", num_threads=num_threads)
        told = []
        monkeypatch.setattr(
            csv._Rows,
            "_told",
            lambda self, *given, told_by=csv._Rows._told: told.append(told_by(self, *given)) or told[-1],
        )
        for _ in batches:
            pass
        found = sorted({int(error.record_key.rpartition(b":")[2]) for error in told})
        assert found == wrong[-len(found) :]
        assert len(found) == len(wrong) or (resumed and len(found) > len(wrong) // 2)
