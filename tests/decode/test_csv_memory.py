"""decode_csv counts a record's fields before creating them."""

import pytest
from tracing import memory_below

from pipeline import InvalidArgumentError, decode_csv


@pytest.mark.parametrize("field", [b"12345678", b'"12345678"', pytest.param(b"\n12345678", marks=pytest.mark.slow)])
@pytest.mark.parametrize("select", [None, [0, 1]])
@pytest.mark.parametrize("block", [False, True])
def test_fields_that_are_too_many_take_no_memory(field, select, block):
    line = b",".join([field] * 140_000)
    records = [line] if block else line
    decode_csv([b"1,1"], [0, 0])  # allocated by the first call
    with memory_below(1.5 * len(line)):
        if select is None:
            with pytest.raises(InvalidArgumentError, match=r"^Expect 2 fields but have 140000 in record 0$"):
                decode_csv(records, [0, 0])
        else:
            first, second = decode_csv(records, [0, 0], select_cols=select)
            assert first == second == 12345678
