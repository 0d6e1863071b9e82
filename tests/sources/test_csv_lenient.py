"""csv: unusual files with comments, quotes within fields, short rows, or lines ending with \\r."""

import csv
import io
import random

import numpy as np
import pytest
from helpers import raises

import pipeline
from pipeline.files.read_buffer import ReadBuffer


@pytest.fixture
def path(tmp_path):
    return tmp_path / "t.csv"


def rows(path, text, **options):
    path.write_bytes(text)
    batches = pipeline.batch(pipeline.csv(path, **options), 2, allow_smaller_final_batch=True)
    return [row for batch in batches for row in zip(*(batch[name].tolist() for name in batch), strict=True)]


class TestComments:
    @pytest.mark.parametrize("end", [b"\n", b"\r\n"])
    def test_lines_that_begin_with_it_are_left_out(self, end, path):
        lines = [b"# from, a program", b"#", b"a,b", b"1,2", b'#x "y', b"", b"3,4", b"#5,6", b"7,8", b"# end"]
        for last in (b"", end):
            assert rows(path, end.join(lines) + last, comment="#") == [(1, 2), (3, 4), (7, 8)]

    def test_within_a_field_it_is_a_character(self, path):
        text = b'a,b\n1,"a\n# b"\n2,c # d\n" #3",e\n'
        assert rows(path, text, comment="#", dtypes=bytes) == [(b"1", b"a\n# b"), (b"2", b"c # d"), (b" #3", b"e")]

    def test_a_byte_that_is_no_ascii(self, path):
        assert rows(path, b"n\n1\n\xa72\n3\n", comment=b"\xa7") == [(1,), (3,)]

    def test_names_that_begin_with_it(self, path):
        assert rows(path, b"#a,b\n1,2\n", names=["a", "b"], comment="#") == [(1, 2)]

    @pytest.mark.parametrize("chunk", range(1, 30))
    def test_wherever_a_piece_ends(self, chunk, path, monkeypatch):
        monkeypatch.setattr(ReadBuffer, "CHUNK", chunk)
        text = b'# a "\na,b\n1,2\n# b, "c\n3,"4\n#"\n#'
        assert rows(path, text, comment="#", dtypes=bytes) == [(b"1", b"2"), (b"3", b"4\n#")]

    def test_errors_tell_the_line(self, path):
        with pytest.raises(pipeline.InvalidArgumentError, match="line 5: column 'n' is not a valid int64: x"):
            rows(path, b"# a\nn\n1\n# b\nx\n", comment="#", dtypes=int)

    @pytest.mark.parametrize("comment", ["##", "", '"', ",", "\n", "\r", "§"])
    def test_it_is_one_character(self, comment, path):
        path.write_text("n\n1\n")
        with raises(
            pipeline.InvalidArgumentError,
            f"csv: comment must be one character other than a quote, delimiter or line end, got {comment!r}",
        ):
            pipeline.csv(path, comment=comment)
        with pytest.raises(TypeError, match="csv: comment must be bytes or text, got int 3"):
            pipeline.csv(path, comment=3)

    def test_without_it_errors_tell_of_it(self, path):
        with pytest.raises(pipeline.InvalidArgumentError, match=r"only one name, '# made by x', .* comment='#'"):
            rows(path, b"# made by x\na,b\n1,2\n")
        with pytest.raises(pipeline.InvalidArgumentError, match=r"line 3: Expect 2 fields but have 1; comment='#'"):
            rows(path, b"a,b\n1,2\n# note\n")


class TestLenient:
    def test_quotes_within_a_field(self, path):
        text = b'a,b\n1,5" pipe\n2,x"y"z\n3,"a"b\n4,"a ""b"" "c"\n'
        words = ['5" pipe', 'x"y"z', "ab", 'a "b" c"']
        assert rows(path, text, lenient=True) == list(zip([1, 2, 3, 4], words, strict=True))

    def test_short_rows(self, path):
        text = b"a,b,c\n1\n2,0.5\n3,1.5,a\n4,\n"
        got = rows(path, text, lenient=True, defaults={"c": "none"})
        assert [(row[0], row[2]) for row in got] == [(1, "none"), (2, "none"), (3, "a"), (4, "none")]
        assert np.isnan([got[0][1], got[3][1]]).all()
        assert (got[1][1], got[2][1]) == (0.5, 1.5)
        assert rows(path, text, lenient=True, columns=["a"]) == [(1,), (2,), (3,), (4,)]
        with pytest.raises(pipeline.InvalidArgumentError, match="line 2: column 'b' is required but missing"):
            rows(path, b"a,b\n1\n", lenient=True, dtypes=int)

    @pytest.mark.parametrize(
        ("text", "match"),
        [
            (b"a,b\n1,2,3\n", r"line 2: Expect 2 fields but have 3(\n|$)"),
            (b'a,b\n1,"2\n3,4\n', r"line 2: Quoted field has to end with quote .*; the quote began in line 2(\n|$)"),
            (b'a,b\n1"2,3\n', """line 2: column 'a' is not a valid int64: 1"2"""),
        ],
    )
    def test_what_stays_an_error(self, text, match, path):
        with pytest.raises(pipeline.InvalidArgumentError, match=match):
            rows(path, text, lenient=True, dtypes=int)

    @pytest.mark.parametrize("text", [b'a,b\n1,5" pipe\n', b'a,b\n1,"a"b\n', b"a,b\n1\n"])
    def test_without_it_errors_tell_of_it(self, text, path):
        with pytest.raises(pipeline.InvalidArgumentError, match=r"line 2: .*; see lenient=(\n|$)"):
            rows(path, text)

    def test_as_pythons_own_module(self, path):
        draw = random.Random(3)
        for _ in range(300):
            lines = ["".join(draw.choices('a",1 ', k=draw.randint(1, 9))) for _ in range(5)]
            text = "\n".join(["x,y,z", *(line for line in lines)]) + "\n"
            expected = [row for row in csv.reader(io.StringIO(text)) if row][1:]
            if any(len(row) > 3 for row in expected):
                continue
            try:
                got = rows(path, text.encode(), lenient=True, dtypes=bytes)
            except pipeline.InvalidArgumentError as error:
                got = str(error)
            if isinstance(got, str):  # Python reads on to the end of the file
                assert "Quoted field has to end with quote" in got
                continue
            assert got == [tuple(field.encode() for field in row + [""] * (3 - len(row))) for row in expected]

    def test_a_state_knows_the_options(self, path):
        path.write_text("n\n" + "1\n" * 30)

        def loop(**options):
            return pipeline.batch(pipeline.csv(path, **options), 2, deterministic=True)

        for options in ({"comment": "#"}, {"lenient": True}):
            with loop(**options) as batches:
                next(batches)
                state = batches.state_dict()
            loop(**options).load_state_dict(state)
            with pytest.raises(pipeline.errors.StateMismatchError):
                loop().load_state_dict(state)


class TestCarriageReturns:
    HINT = r"; a line ends with \\n or \\r\\n, and here is \\r alone: change the file, as by tr '\\r' '\\n'(\n|$)"

    @pytest.mark.parametrize("text", [b"a,b\r1,2\r3,4\r", b"n\r1\r2", b"a,b\n1,2\r3,4\n", b"a,b\r\n1,2\r3,4\r\n"])
    def test_alone_they_end_no_line(self, text, path):
        for lenient in (False, True):
            with pytest.raises(pipeline.InvalidArgumentError, match=self.HINT):
                rows(path, text, lenient=lenient)

    @pytest.mark.parametrize(
        "text", [b"a,b\n1,\rx\n", b"a,b\n\r1,x\n", b"a,b\n1,x\n\r,x\n", b"a,b\n1,\r\r\n", b"\ra,b\n1,x\n"]
    )
    def test_before_a_field_they_are_not_dropped(self, text, path):
        for lenient in (False, True):
            for quotes in (False, True):
                with pytest.raises(pipeline.InvalidArgumentError, match=r"quotes/CRLFs inside.*" + self.HINT):
                    rows(path, text, lenient=lenient, use_quote_delim=quotes)

    def test_with_names(self, path):
        with pytest.raises(pipeline.InvalidArgumentError, match=r"line 1: .*" + self.HINT):
            rows(path, b"1,2\r3,4\r", names=["a", "b"])

    def test_after_quotes(self, path):
        for lenient in (False, True):
            with pytest.raises(pipeline.InvalidArgumentError, match="line 2: "):
                rows(path, b'a,b\n1,"2"\r3,4\n', lenient=lenient)
