"""Random chains with all transformations match plain Python, with any workers and after any resume.

A failing chain prints its seed. A new step changes the chains of seeds, so give each failure a test of its own. More
chains, from seed 5,001 on: `CHAINS=1000 CHAINS_AFTER=5000 pytest tests/dataset/test_chains.py`; 60 chains with a given
step: `CHAINS_WITH=".take("`.
"""

import contextlib
import functools
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import chains
import pytest
from helpers import in_order

COUNT = int(os.environ.get("CHAINS", "60"))
AFTER = int(os.environ.get("CHAINS_AFTER", "0"))
WITH = os.environ.get("CHAINS_WITH", "")  # text required in every chain
MOST = 800  # elements compared
MODES = ["alone", "threads", "processes"]


def seeds(count):
    """Return this many seeds."""
    return seeds_with()[:count] if WITH else range(AFTER + 1, AFTER + count + 1)


@functools.cache
def seeds_with():
    """Return seeds for chains with the requested step."""
    with tempfile.TemporaryDirectory() as directory:
        tried = range(AFTER + 1, AFTER + 100 * COUNT)
        found = (seed for seed in tried if WITH in chains.of_seed(seed, Path(directory)).text)
        those = list(itertools.islice(found, COUNT))
    assert those, f"no chain has the text {WITH!r}"
    return those


@contextlib.contextmanager
def told(seed, chain):
    """Print the seed if its chain fails."""
    try:
        yield
    except BaseException:
        print(f"the chain of seed {seed}: {chain.text}\n{chain.data!r}")
        raise


def fingerprint_of(iterator, data):
    """Return an iterator's fingerprint, or None if its dataset has no checksum."""
    return iterator.fingerprint() if "checksum" in repr(data) else None


def run(data):
    """Return all elements, the state before each and after the last, and the fingerprint."""
    iterator = iter(data)
    elements, states = [], [json.loads(json.dumps(iterator.state_dict()))]
    for element in iterator:
        elements.append(chains.plain(element))
        states.append(json.loads(json.dumps(iterator.state_dict())))
        if len(elements) == MOST:
            iterator.close()
            break
    return elements, states, fingerprint_of(iterator, data)


def rest_of(elements, states, fingerprint, data, k):
    """Check a resume before element k."""
    iterator = iter(data)
    iterator.load_state_dict(states[k])
    assert iterator.state_dict() == states[k]
    assert [chains.plain(each) for each in itertools.islice(iterator, MOST - k)] == elements[k:]
    if len(elements) < MOST:
        assert next(iterator, None) is None
    assert fingerprint_of(iterator, data) == fingerprint
    iterator.close()


def resumed_again_and_again(elements, fingerprint, datasets, rng):
    """Check runs continuing from each other's states, in any of several equal datasets."""
    k, state = 0, None
    while True:
        data = rng.choice(datasets)
        iterator = iter(data)
        if state is not None:
            iterator.load_state_dict(state)
        count = min(rng.choice([1, 1, 2, 5, 20, 90]), MOST - k)
        got = [chains.plain(each) for each in itertools.islice(iterator, count)]
        assert got == elements[k : k + count]
        k += len(got)
        state = json.loads(json.dumps(iterator.state_dict()))
        if len(got) < count or k == MOST:
            assert fingerprint_of(iterator, data) == fingerprint
            iterator.close()
            return
        iterator.close()


def hosts_in_turn(parts):
    """Interleave the elements from all hosts."""
    return [each for of_all in itertools.zip_longest(*parts, fillvalue=None) for each in of_all if each is not None]


def moved_from_hosts_to_hosts(elements, datasets, equal, rng):
    """Check hosts that share a dataset while their number changes; any host's state continues the run.

    Args:
        elements: The elements on a single host.
        datasets: Several equal datasets.
        equal: Give all hosts the same number of elements.
        rng: Source of randomness.
    """
    state, k = None, 0
    while True:
        count, rounds = rng.randrange(1, 6), rng.choice([1, 1, 2, 5, 20, MOST])
        parts, states = [], []
        for i in range(count):
            with iter(rng.choice(datasets).shard(i, count, drop_remainder=equal)) as iterator:
                if state is not None:
                    iterator.load_state_dict(state)
                parts.append([chains.plain(each) for each in itertools.islice(iterator, rounds)])
                states.append(json.loads(json.dumps(iterator.state_dict())))
        got = hosts_in_turn(parts)[: MOST - k]
        assert got == elements[k : k + len(got)]
        k, state = k + len(got), rng.choice(states)
        if rounds == MOST or len(parts[-1]) < rounds or k == MOST:
            assert len(elements) - k < (count if equal else 1)
            return


def some_of(length):
    """Positions to resume at."""
    return sorted({0, 1, length // 3, length // 2, length - 1, length} & set(range(length + 1)))


@pytest.fixture(params=seeds(COUNT))
def seed(request):
    return request.param


def test_a_chain_gives_what_plain_python_gives(seed, tmp_path):
    chain = chains.of_seed(seed, tmp_path)
    with told(seed, chain):
        elements, _, _ = run(chain.data)
        if chain.expected is None:
            return
        expected = [chains.plain(each) for each in chain.expected][:MOST]
        if chain.kind == "row":
            elements = [row["tokens"][: len(e)] for row, e in zip(elements, expected, strict=True)]
        assert elements == expected


@pytest.mark.parametrize("mode", ["alone", "threads"])
def test_a_chain_goes_on_on_any_number_of_hosts(seed, mode, tmp_path):
    chain = chains.of_seed(seed, tmp_path)
    with told(seed, chain):
        elements, _, _ = run(chain.data)
        datasets = [chain.data, chains.of_seed(seed, tmp_path, chains.workers_of(mode)).data]
        for turn in range(3):
            equal = turn == 2 or "skipping" in chain.text  # otherwise each host leaves out different examples
            rng = random.Random(f"hosts-{seed}-{turn}")
            moved_from_hosts_to_hosts(elements, datasets, equal, rng)


def test_a_chain_gives_the_same_again_by_number_and_has_its_length(seed, tmp_path):
    """`_node` records whether a chain must have these; otherwise both could be missing without an error."""
    chain = chains.of_seed(seed, tmp_path)
    data = chains.summed(seed, chain)
    with told(seed, chain):
        elements, _, fingerprint = run(data)
        again = run(data)
        assert (again[0], again[2]) == (elements, fingerprint)
        if data._node.length() is None:
            return
        assert min(len(data), MOST) == len(elements)
        if data._node.indexed:
            places = range(0, len(elements), 1 + len(elements) // 20)
            assert [chains.plain(data[i]) for i in places] == [elements[i] for i in places]


def test_a_chain_resumes_anywhere(seed, tmp_path):
    chain = chains.of_seed(seed, tmp_path)
    data = chains.summed(seed, chain)
    with told(seed, chain):
        found = run(data)
        for k in some_of(len(found[0])):
            rest_of(*found, data, k)
        resumed_again_and_again(found[0], found[2], [data], random.Random(seed))


@pytest.mark.parametrize("mode", MODES[1:])
@pytest.mark.parametrize("seed", seeds(COUNT // 3))
def test_workers_change_nothing(seed, mode, tmp_path):
    """Elements and fingerprints equal those without workers, and each run resumes the other."""
    alone = chains.of_seed(seed, tmp_path)
    together = chains.of_seed(seed, tmp_path, chains.workers_of(mode))
    if alone.text != together.text:  # it cannot be shuffled after workers, as the error explains, and stays unshuffled
        return
    data, other = chains.summed(seed, alone), chains.summed(seed, together)
    with told(seed, alone):
        expected, got = run(data), run(other)
        assert (got[0], got[2]) == (expected[0], expected[2])
        for k in some_of(len(expected[0])):
            rest_of(*expected, other, k)
            rest_of(*got, data, k)


@pytest.mark.parametrize("seed", seeds(COUNT // 3))
def test_resumed_again_and_again_each_time_with_other_workers(seed, tmp_path):
    made = [chains.of_seed(seed, tmp_path, chains.workers_of(mode)) for mode in MODES]
    datasets = [chains.summed(seed, each) for each in made if each.text == made[0].text]
    with told(seed, made[0]):
        elements, _, fingerprint = run(datasets[0])
        rng = random.Random(seed)
        for _ in range(3):
            resumed_again_and_again(elements, fingerprint, datasets, rng)


def common(lists):
    """Return the length of the lists' common prefix."""
    return sum(1 for _ in itertools.takewhile(lambda each: all(x == each[0] for x in each), zip(*lists, strict=False)))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", seeds(COUNT // 2))
def test_an_error_comes_after_what_does_not_need_its_element(seed, mode, tmp_path):
    """The error comes once, then the end; the last element's state leads to the error again.

    An element needs a number if that number changes its value, or if it follows such an element.
    """
    before, rng = chains.sound_of_seed(seed, tmp_path)
    numbers = run(before.data)[0]
    if not numbers:
        return
    value = numbers[rng.randrange(len(numbers))]
    bad = chains.spoilt_of_seed(seed, tmp_path, chains.Spoilt(value), chains.workers_of(mode))
    sound = chains.spoilt_of_seed(seed, tmp_path, chains.Spoilt(None))
    if sound.text != bad.text:
        return
    unasked = any(each in bad.text for each in chains.UNASKED)
    ahead = mode != "alone" and (unasked or chains.made_as_they_arrive(bad.data))
    with told(seed, bad):
        good = run(sound.data)[0]
        iterator = iter(bad.data)
        found, state, raised = [], iterator.state_dict(), False
        try:
            while len(found) < MOST and (element := next(iterator, None)) is not None:
                found.append(chains.plain(element))
                state = iterator.state_dict()
        except chains.Bad:
            raised = True
        assert found == good[: len(found)]
        if not raised:
            assert len(found) == len(good)
            return
        assert list(iterator) == []
        assert iterator.state_dict()["state"] == state["state"]
        again = iter(bad.data)
        again.load_state_dict(state)
        with contextlib.suppress(chains.Bad) if ahead else pytest.raises(chains.Bad):
            next(again, None)
        if not ahead:
            alone = []
            with pytest.raises(chains.Bad):
                alone.extend(chains.spoilt_of_seed(seed, tmp_path, chains.Spoilt(value)).data)
            assert len(found) == len(alone)
        if bad.expected is not None and not (ahead or unasked or "nested" in bad.text):
            others = [chains.Spoilt(value, instead) for instead in (1e4, 1e4 + 3, 1e4 + 6, 1e4 + 13)]
            changed = [run(chains.spoilt_of_seed(seed, tmp_path, other).data)[0] for other in others]
            assert len(found) == common([good, *changed])


class Interrupt(KeyboardInterrupt):
    """Raised by the signal handler."""


class Strikes:
    """A signal handler that may run late, after another thread has received the signal.

    Attributes:
        on: Raise if true.
    """

    def __init__(self):
        self.on = False

    def __call__(self, number, frame):
        if self.on:
            self.on = False
            raise Interrupt


def elements_under_signals(iterator, rng, most):
    """Take up to MOST elements while signals strike at random, and then the rest without signals."""
    found, end = [], object()
    strikes, struck = Strikes(), 0
    before = signal.signal(signal.SIGALRM, strikes)
    try:
        while iterator.delivered[0] < MOST and not (found and found[-1] is end):
            count = len(found)
            try:
                if struck < most:
                    strikes.on = True
                    signal.setitimer(signal.ITIMER_REAL, rng.choice([1e-6, 2e-5, 2e-4, 2e-3]))
                found.extend(itertools.starmap(next, ((iterator, end),)))  # compiled: both, or neither
                strikes.on = False
            except Interrupt:
                strikes.on = False
                struck += 1
                if len(found) == count:  # now without a signal
                    found.extend(itertools.starmap(next, ((iterator, end),)))
    finally:
        strikes.on = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return [chains.plain(each) for each in found if each is not end]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # where Python cannot raise it
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers that send signals")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", seeds(COUNT // 4))
def test_signals_double_nothing(seed, mode, tmp_path):
    """Signals strike repeatedly at random moments; each element comes once, in order.

    A signal during the hand-over may lose the element, and then it counts as delivered.
    """
    chain = chains.of_seed(seed, tmp_path, chains.workers_of(mode))
    data = chains.summed(seed, chain)
    expected, _, fingerprint = run(chains.summed(seed, chains.of_seed(seed, tmp_path)))
    iterator = iter(data)
    with told(seed, chain), iterator:
        found = elements_under_signals(iterator, random.Random(seed), 300)
        assert in_order(found, expected)
        assert len(expected) - len(found) <= 30
        assert iterator.delivered[0] == len(expected)
        assert fingerprint_of(iterator, data) == fingerprint


PROGRAM = Path(__file__).parents[1] / "support" / "chain_program.py"


def program(seed, mode, directory, most=MOST):
    """Start the program that runs a chain."""
    root = PROGRAM.parents[2]
    path = os.pathsep.join(map(str, (root, PROGRAM.parent)))
    command = [sys.executable, PROGRAM, str(seed), mode, str(directory), str(most)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=root, env={**os.environ, "PYTHONPATH": path}
    )


def with_slow_ones(first, *others):
    return [first, *(pytest.param(seed, marks=pytest.mark.slow) for seed in others)]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", with_slow_ones(3, 8, 21, 40))
def test_killed_and_started_again(seed, mode, tmp_path):
    """Kill with kill -9 after some elements, twice; the next run continues from the saved state, in a new process."""
    chain = chains.of_seed(seed, tmp_path)
    with told(seed, chain):
        expected, _, fingerprint = run(chains.summed(seed, chain))
        rng = random.Random(seed)
        found = {}
        for kills in (1, 1, 0):
            last = rng.randrange(max(1, len(expected) // 2)) if kills else None
            with program(seed, mode, tmp_path) as running:
                for count, line in enumerate(running.stdout):
                    number, element = json.loads(line)
                    if number == "end":
                        assert element == fingerprint
                        break
                    assert found.setdefault(number, element) == element
                    if count == last:
                        running.kill()  # and read on, because it may have delivered and saved more
        assert running.returncode == 0
        assert [found[number] for number in range(len(expected))] == expected


RESUME = """
import json, sys
from pathlib import Path

import chains

seed, mode, directory, told = int(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), sys.argv[4]
elements, states, fingerprint = json.loads(Path(told).read_text())
data = chains.of_seed(seed, directory, chains.workers_of(mode)).data.take(40).checksum()
for k in range(len(elements) + 1):
    iterator = iter(data)
    iterator.load_state_dict(states[k])
    rest = [chains.plain(each) for each in iterator]
    assert rest == elements[k:], k
    assert iterator.fingerprint() == fingerprint
print("ok")
"""


@pytest.mark.parametrize("mode", MODES[:2])
@pytest.mark.parametrize("seed", with_slow_ones(2, 5, 11, 26))
def test_resumed_at_every_element_in_another_process(seed, mode, tmp_path):
    chain = chains.of_seed(seed, tmp_path)
    with told(seed, chain):
        expected = tmp_path / "expected.json"
        expected.write_text(json.dumps(run(chain.data.take(40).checksum())))
        path = os.pathsep.join(map(str, (PROGRAM.parents[2], PROGRAM.parent)))
        command = [sys.executable, "-c", RESUME, str(seed), mode, str(tmp_path), str(expected)]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": path}
        )
        assert (done.stdout, done.stderr) == ("ok\n", "")
