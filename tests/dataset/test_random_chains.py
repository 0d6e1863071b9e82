"""Random chains of transformations: as plain Python says, the same twice, and resumed anywhere.

The seed of a chain that fails is in its name: `pytest -k "[17]"`.
"""

import json

import chains
import pytest

COUNT = 60
MOST = 800  # elements looked at


def run(data, state=None):
    """All elements, and the state before each and after the last."""
    iterator = iter(data)
    if state is not None:
        iterator.load_state_dict(state)
    elements, states = [], [json.loads(json.dumps(iterator.state_dict()))]
    for element in iterator:
        elements.append(chains.plain(element))
        states.append(json.loads(json.dumps(iterator.state_dict())))
        if len(elements) == MOST:
            iterator.close()
            break
    return elements, states, iterator.fingerprint()


def without_files(states):
    """States without the files that were read, as a thread reads ahead, and without seeds, which chance may give."""
    return [
        {key: value for key, value in state.items() if key not in ("files", "seeds", "checksum")} for state in states
    ]


def same(one, other):
    return one[0] == other[0] and without_files(one[1]) == without_files(other[1]) and one[2] == other[2]


@pytest.fixture(params=range(COUNT))
def chain(request, tmp_path):
    _, rng = chains.seeds(request.param + 1, "chain")[-1]
    return chains.grow(rng, chains.source(rng, tmp_path), rng.randrange(1, 6), tmp_path)


def rest_of(elements, states, fingerprint, data, k):
    """Check a resume before element k."""
    iterator = iter(data)
    iterator.load_state_dict(states[k])
    assert iterator.state_dict() == states[k]
    rest = []
    for element in iterator:
        rest.append(chains.plain(element))
        if len(rest) + k == MOST:
            break
    assert rest == elements[k:]
    assert iterator.fingerprint() == fingerprint
    iterator.close()


def test_a_chain_gives_what_plain_python_gives(chain):
    elements, _, _ = run(chain.data)
    if chain.expected is not None:
        expected = [chains.plain(each) for each in chain.expected][:MOST]
        if chain.kind == "row":
            elements = [row["tokens"][: len(e)] for row, e in zip(elements, expected, strict=True)]
        assert elements == expected, chain.text


def test_a_chain_gives_the_same_again_and_has_its_length(chain):
    once = run(chain.data)
    assert same(once, run(chain.data)), chain.text
    elements = once[0]
    try:
        length = len(chain.data)
    except TypeError:
        return
    assert min(length, MOST) == len(elements), chain.text


def test_a_chain_resumes_anywhere(chain):
    elements, states, fingerprint = run(chain.data)
    places = {0, 1, len(elements) // 3, len(elements) // 2, len(elements) - 1, len(elements)}
    for k in sorted(places & set(range(len(elements) + 1))):
        rest_of(elements, states, fingerprint, chain.data, k)


def test_workers_change_nothing(request, tmp_path):
    """Elements, fingerprints and states are those of a chain without workers, and each resumes the other."""
    for _, rng in chains.seeds(12, "workers"):
        state = rng.getstate()
        alone = chains.grow(rng, chains.source(rng, tmp_path), 4, tmp_path)
        rng.setstate(state)
        together = chains.grow(rng, chains.source(rng, tmp_path), 4, tmp_path, workers=2)
        expected, got = run(alone.data), run(together.data)
        assert same(got, expected), alone.text
        k = len(expected[0]) // 2
        rest_of(*expected, together.data, k)
        rest_of(*got, alone.data, k)
