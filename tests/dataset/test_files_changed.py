"""A change to a file is noticed even if the file was read long before the state was saved."""

import pytest

import pipeline


def resumed(data, state):
    iterator = iter(data)
    iterator.load_state_dict(state)
    return next(iterator)


@pytest.mark.parametrize("shuffle", [False, True])
def test_of_many_files(tmp_path, shuffle):
    names = []
    for i in range(24):
        names.append(tmp_path / f"{i:02}.txt")
        names[-1].write_text("".join(f"{i * 10 + j}\n" for j in range(5)))
    data = pipeline.text(names, shuffle=shuffle, seed=3 if shuffle else None).batch(5)
    iterator = iter(data)
    first = [next(iterator)[0] for _ in range(20)]
    state = iterator.state_dict()
    rest = [each.tolist() for each in iterator]
    again = iter(data)
    again.load_state_dict(state)
    assert [each.tolist() for each in again] == rest
    with open(names[int(first[0]) // 10], "a") as file:
        file.write("7\n")
    text = r"(has another size|bytes when the state was saved and has \d+) now"
    with pytest.raises(pipeline.errors.StateMismatchError, match=text):
        resumed(data, state)
