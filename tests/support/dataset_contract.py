"""What every dataset promises, whatever it is made of."""

import json

import chains


def check(data, expected):
    """Its elements, again, by number and after a resume at each; its length; and that an iterator may be left."""
    expected = [chains.plain(each) for each in expected]
    assert [chains.plain(each) for each in data] == expected
    assert [chains.plain(each) for each in data] == expected
    node = data._node  # says what it must have: a length and numbers could be missing without an error
    if node.length() is not None:
        assert len(data) == len(expected)
    if node.indexed:
        assert [chains.plain(data[i]) for i in range(len(data))] == expected
    states, fingerprint = states_of(data)
    for k, state in enumerate(states):
        with iter(data) as iterator:
            iterator.load_state_dict(state)
            assert [chains.plain(each) for each in iterator] == expected[k:]
            assert iterator.fingerprint() == fingerprint
    with iter(data) as left:
        next(left, None)


def states_of(data):
    """The state before each element and after the last, as JSON keeps it; and the fingerprint of all."""
    with iter(data) as iterator:
        states = [json.loads(json.dumps(iterator.state_dict()))]
        states += [json.loads(json.dumps(iterator.state_dict())) for _ in iterator]
        return states, iterator.fingerprint()


def stream(items):
    """A dataset whose elements come one after the other, and have no numbers."""

    def items_again():
        yield from items

    items_again.__qualname__ = "stream"
    return chains.dataset(items_again)
