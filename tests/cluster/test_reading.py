"""Files read by cluster workers."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading

import cluster_functions as functions
import numpy as np
import pytest
from cluster_nodes import SHORT

import pipeline

ray = pytest.importorskip("ray", reason="needs Ray: make test-cluster")
pytestmark = pytest.mark.usefixtures("cluster")


@pytest.fixture
def files(tmp_path):
    """Twelve files with 0 to 165 numbers each; together they count from 0."""
    paths, first = [], 0
    for count in range(0, 180, 15):
        paths.append(str(tmp_path / f"{len(paths)}.txt"))
        with open(paths[-1], "w") as file:
            file.writelines(f"{number}\n" for number in range(first, first + count))
        first += count
    return paths


TOTAL = sum(range(0, 180, 15))


def source_of(files, function=functions.lines, count=3, **more):
    return pipeline.cluster.read(function, files, workers=pipeline.cluster.workers(count), rows=16, **more)


def numbers_of(batches):
    with batches:
        return [number for rows, _ in batches for number in rows[:, 0].tolist()]


def test_rows_come_in_the_order_of_the_files(files):
    batches = pipeline.batch(source_of(files), 32, allow_smaller_final_batch=True)
    with batches:
        found = [(row[0], line) for rows, lines in batches for row, line in zip(rows, lines, strict=True)]
    assert found == [(i, str(i)) for i in range(TOTAL)]


def test_single_examples_and_a_second_time(files):
    source = source_of(files, num_epochs=2)
    for _ in range(2):
        assert [int(row[0]) for row, _ in source] == [*range(TOTAL), *range(TOTAL)]


def test_blocks_of_rows(files):
    source = source_of(files, functions.blocks, enqueue_many=True)
    with pipeline.batch(source, 10, allow_smaller_final_batch=True) as batches:
        assert [n for batch in batches for n in batch["n"].tolist()] == list(range(TOTAL))


def test_shards_are_disjoint_and_complete(files):
    parts = [{int(row[0]) for row, _ in source_of(files, shard=(i, 3))} for i in range(3)]
    assert sorted(number for part in parts for number in part) == list(range(TOTAL))


def test_a_run_goes_on_with_another_number_of_workers(files):
    def loop(count):
        source = source_of(files, count=count, num_epochs=2, shuffle=True, seed=1)
        return pipeline.shuffle_batch(source, 20, 500, 100, seed=2, deterministic=True)

    whole = loop(1)
    expected = numbers_of(whole)
    first, found = loop(5), []
    for _ in range(37):
        found += next(first)[0][:, 0].tolist()
    state = first.state_dict()
    first.close()
    second = loop(2)
    second.load_state_dict(state)
    assert found + numbers_of(second) == expected


def dies_once(folder, deadly):
    def function(path):
        for i, example in enumerate(functions.lines(path)):
            if i == 40 and path in deadly and not os.path.exists(os.path.join(folder, os.path.basename(path))):
                open(os.path.join(folder, os.path.basename(path)), "w").close()
                os.kill(os.getpid(), signal.SIGKILL)
            yield example

    return function


def test_readers_that_die_are_begun_again(files, tmp_path):
    died = tmp_path / "died"
    died.mkdir()
    deadly = files[3:6] if SHORT else files[3:]  # files above 40 lines
    source = source_of(files, dies_once(str(died), deadly))
    assert [int(row[0]) for row, _ in source] == list(range(TOTAL))
    assert len(os.listdir(died)) == len(deadly)


def test_a_part_that_fails_is_named(files):
    with pytest.raises(ValueError, match="a bad line") as caught:
        list(source_of(files, functions.fails_in_the_fourth))
    if sys.version_info >= (3, 11):
        assert "cluster.read: part 3, " in caught.value.__notes__[0]
        assert "after 20 examples" in caught.value.__notes__[0]


def test_the_rest_of_a_part_that_fails_is_left_out(files):
    def batches():
        source = source_of(files, functions.fails_in_the_fourth)
        return pipeline.batch(source, 8, on_error="skip", allow_smaller_final_batch=True, deterministic=True)

    with batches() as found:
        states = []
        for batch in found:
            states.append((batch[0][-1, 0], found.state_dict()))
        assert (found.num_errors, [str(each) for each in found.errors]) == (1, ["a bad line"])
    assert numbers_of(batches()) == [*range(65), *range(90, TOTAL)]
    for last, state in (states[7], states[8], states[9]):  # within the failing part, after it and across
        with batches() as again:
            again.load_state_dict(state)
            assert numbers_of(again) == [each for each in [*range(65), *range(90, TOTAL)] if each > last]


def test_so_many_parts_may_fail(files):
    source = source_of(files, functions.fails_in_the_fourth)
    with pytest.raises(ValueError, match="a bad line"):
        list(pipeline.batch(source, 8, on_error="skip", max_errors=0))


def test_a_part_that_kills_each_worker_is_named():
    workers = pipeline.cluster.workers(1, retries=1)
    source = pipeline.cluster.read(functions.always_dies, ["a", "b"], workers=workers)
    said = r"cluster\.read: part 0, 'a', after 0 examples: a worker process died each time, 2 times \(\w+\)\nin"
    with pytest.raises(pipeline.errors.AbortedError, match=said):
        list(source)


def test_a_loop_that_is_left_stops_its_readers():
    source = pipeline.cluster.read(functions.endless, range(9), workers=pipeline.cluster.workers(5))
    with pipeline.batch(source, 8) as batches:
        next(batches)
    assert all_processors_are_free()


def next_or_closed(iterator):
    with contextlib.suppress(pipeline.CancelledError):
        next(iterator, None)


def test_a_loop_that_waits_for_its_first_rows_can_be_left(tmp_path):
    function = functions.notes_and_works(str(tmp_path))
    batches = pipeline.batch(pipeline.cluster.read(function, range(9), workers=pipeline.cluster.workers(5)), 8)
    consumer = threading.Thread(target=next_or_closed, args=(batches,))
    consumer.start()
    while not os.listdir(tmp_path):
        pass
    batches.close()
    consumer.join()
    assert all_processors_are_free()


LEAVES = """
import sys
import cluster_functions as functions
import pipeline
import ray

source = pipeline.cluster.read(functions.endless, range(9), workers=pipeline.cluster.workers(2, address=sys.argv[1]))
batches = pipeline.batch(source, 8)
next(batches)
queue = pipeline.cluster.RemoteQueue(5, ["int64"], [()])
server = pipeline.cluster.serve(iter(int, 1), "left")
consumer = pipeline.cluster.consume("left")
next(consumer)
ray.shutdown()
for call in (lambda: list(batches), queue.size, consumer.__next__, server.join):
    try:
        call()
    except pipeline.AbortedError as error:
        print(ray.is_initialized(), error)
ray.init(address=sys.argv[1])
batches.close()
"""


def test_a_program_that_leaves_the_cluster_meanwhile(cluster):
    done = subprocess.run([sys.executable, "-c", LEAVES, cluster.address], capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    left = "this process has left the Ray cluster"
    ended = "ended with the program"  # Ray may then name the waiting call
    read, queue, *served = done.stdout.splitlines()
    assert re.match(f"False cluster.read: part 0.*: {left}$", read)
    assert re.match(f"False cluster.RemoteQueue .*: {left}$", queue)
    assert [re.match(f"False what was served as 'left' .*({left}|{ended})", line) is not None for line in served] == [
        True,
        True,
    ]


def all_processors_are_free():
    """Return once they are."""
    numbers = pipeline.dataset(range(20)).map(abs, workers=pipeline.cluster.workers(1, num_cpus=2))
    return list(numbers) == list(range(20))


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"function": 3}, TypeError, "function must be callable, not 3"),
        ({"parts": "a.txt"}, TypeError, "parts must be a list, such as of file names, not 'a.txt'"),
        ({"parts": []}, ValueError, "there are no parts"),
        ({"workers": 3}, TypeError, r"workers must be pipeline\.cluster\.workers\(n\), not 3"),
        ({"rows": 0}, ValueError, "rows must be at least 1, got 0"),
        ({"buffer_bytes": 0}, ValueError, "buffer_bytes must be at least 1, got 0"),
        ({"num_epochs": 0}, ValueError, "num_epochs"),
    ],
)
def test_bad_arguments(change, error, text):
    arguments = {"function": functions.endless, "parts": ["a"], "workers": pipeline.cluster.workers(1), **change}
    with pytest.raises(error, match=text):
        pipeline.cluster.read(arguments.pop("function"), arguments.pop("parts"), **arguments)


def test_a_function_that_gives_nothing_to_go_through():
    with pytest.raises(TypeError, match="'int' object is not iterable"):
        list(pipeline.cluster.read(abs, [1], workers=pipeline.cluster.workers(1)))


def test_examples_that_differ_in_shape():
    source = pipeline.cluster.read(lambda part: [np.zeros(i) for i in (1, 2)], [0], workers=pipeline.cluster.workers(1))
    with pytest.raises(pipeline.errors.InvalidArgumentError, match="examples differ in shape"):
        list(source)
