"""What every dataset promises, whatever it is made of."""

import json

import chains


def check(data, expected):
    """Its elements, again, by number, and after a resume at each; its length; and that an iterator may be left."""
    expected = [chains.plain(each) for each in expected]
    assert [chains.plain(each) for each in data] == expected
    assert [chains.plain(each) for each in data] == expected
    node = data._node  # says what it must have: a length and numbers could be missing without an error
    if node.length() is not None:
        assert len(data) == len(expected)
    if node.indexed:
        assert [chains.plain(data[i]) for i in range(len(data))] == expected
    for k, state in enumerate(states_of(data)):
        with iter(data) as iterator:
            iterator.load_state_dict(state)
            assert iterator.state_dict() == state
            assert [chains.plain(each) for each in iterator] == expected[k:]
    check_resumed_again(data, expected)
    with iter(data) as left:
        next(left, None)


def check_resumed_again(data, expected, step=1):
    """Each element by an iterator that goes on from the state of the one before it, which was resumed itself."""
    state, found = None, []
    while len(found) < len(expected):
        with iter(data) as iterator:
            if state is not None:
                iterator.load_state_dict(state)
            found += [chains.plain(next(iterator)) for _ in range(min(step, len(expected) - len(found)))]
            state = json.loads(json.dumps(iterator.state_dict()))
    assert found == expected


def states_of(data):
    """The state before each element and after the last, as JSON keeps it."""
    with iter(data) as iterator:
        states = [json.loads(json.dumps(iterator.state_dict()))]
        return states + [json.loads(json.dumps(iterator.state_dict())) for _ in iterator]


def stream(items):
    """A dataset whose elements come one after the other, and have no numbers."""

    def items_again():
        yield from items

    items_again.__qualname__ = "stream"
    return chains.dataset(items_again)
