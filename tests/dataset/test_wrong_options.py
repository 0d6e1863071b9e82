"""Unknown options, or options with a wrong type, raise a TypeError where the chain is written."""

import pytest

import pipeline

NUMBERS = pipeline.dataset(range(10))


def double(x):
    return 2 * x


MEANT = {
    "batch(batch_size)": (lambda: NUMBERS.batch(batch_size=3), "n"),
    "batch(drop_last)": (lambda: NUMBERS.batch(3, drop_last=True), "drop_remainder"),
    "batch(collate_fn)": (lambda: NUMBERS.batch(3, collate_fn=list), "collate"),
    "batch(padding_values)": (lambda: NUMBERS.batch(3, padding_values=0), "pad"),
    "take(count)": (lambda: NUMBERS.take(count=3), "n"),
    "map(map_func)": (lambda: NUMBERS.map(map_func=double), "function"),
    "map(num_workers)": (lambda: NUMBERS.map(double, num_workers=2), "workers"),
    "map(num_parallel_calls)": (lambda: NUMBERS.map(double, num_parallel_calls=2), "workers"),
    "filter(predicate)": (lambda: NUMBERS.filter(predicate=double), "function"),
    "filter(num_workers)": (lambda: NUMBERS.filter(double, num_workers=2), "workers"),
    "flat_map(deterministic)": (lambda: NUMBERS.flat_map(double, deterministic=True), "ordered"),
    "map_batches(worker)": (lambda: NUMBERS.batch(2).map_batches(double, worker=2), "workers"),
    "shuffle(buffer)": (lambda: NUMBERS.shuffle(buffer=3), "buffer_size"),
    "shard(num_shards)": (lambda: NUMBERS.shard(0, num_shards=3), "n"),
    "shard(index)": (lambda: NUMBERS.shard(n=3, index=0), "i"),
    "window(shift)": (lambda: NUMBERS.window(3, shift=1), "stride"),
    "bucket(bucket_boundaries)": (lambda: NUMBERS.bucket(bucket_boundaries=[3], batch_sizes=[1, 2]), "boundaries"),
    "bucket(bucket_batch_sizes)": (lambda: NUMBERS.bucket([3], bucket_batch_sizes=[1, 2]), "batch_sizes"),
    "prefetch(buffer_size)": (lambda: NUMBERS.prefetch(buffer_size=3), "n"),
    "repeat(count)": (lambda: NUMBERS.repeat(count=3), "n"),
    "epoch(epoch)": (lambda: NUMBERS.epoch(epoch=1), "i"),
    "sample(replacement)": (lambda: NUMBERS.sample([1] * 10, replacement=True), None),
    "mix(weight)": (lambda: pipeline.mix([NUMBERS], weight=[1]), "weights"),
    "interleave(cycle)": (lambda: pipeline.interleave([NUMBERS], cycle=1), "cycle_length"),
}


@pytest.mark.parametrize(
    ("option", "hint"), [("shuffle", ".shuffle(seed=1)"), ("batch_size", ".batch(...)"), ("seed", ".shuffle(seed=...)")]
)
def test_options_of_methods_given_to_dataset(option, hint):
    with pytest.raises(TypeError) as caught:
        pipeline.dataset([1, 2], **{option: 1})
    said = f"dataset() got an unexpected keyword argument '{option}'. Write it behind: dataset(...){hint}."
    assert str(caught.value) == said


@pytest.mark.parametrize("name", MEANT)
def test_unknown_options_say_what_was_meant(name):
    call, meant = MEANT[name]
    method, option = name[:-1].split("(")
    hint = "It takes weights, n, seed" if meant is None else f"Did you mean '{meant}'?"
    with pytest.raises(TypeError) as caught:
        call()
    said = str(caught.value)
    assert said.removeprefix("Dataset.").startswith(f"{method}() got an unexpected keyword argument '{option}'. {hint}")


INTEGERS = {
    "batch(n)": lambda n: NUMBERS.batch(n),
    "take(n)": lambda n: NUMBERS.take(n),
    "skip(n)": lambda n: NUMBERS.skip(n),
    "shard(i)": lambda n: NUMBERS.shard(n, 3),
    "shard(n)": lambda n: NUMBERS.shard(0, n),
    "repeat(n)": lambda n: NUMBERS.repeat(n),
    "prefetch(n)": lambda n: NUMBERS.prefetch(n),
    "shuffle(buffer_size)": lambda n: NUMBERS.shuffle(n),
    "shuffle(pool, seed)": lambda n: NUMBERS.shuffle(3, seed=n),
    "shuffle(seed)": lambda n: NUMBERS.shuffle(seed=n),
    "sample(n)": lambda n: NUMBERS.sample([1] * 10, n),
    "sample(seed)": lambda n: NUMBERS.sample([1] * 10, seed=n),
    "map(seed)": lambda n: NUMBERS.map(double, seed=n),
    "map(workers)": lambda n: NUMBERS.map(double, workers=n),
    "map(max_errors)": lambda n: NUMBERS.map(double, on_error="skip", max_errors=n),
    "window(size)": lambda n: NUMBERS.window(n),
    "window(stride)": lambda n: NUMBERS.window(3, n),
    "pack(length)": lambda n: NUMBERS.pack(n),
    "bucket(boundary)": lambda n: NUMBERS.bucket([n], [1, 2]),
    "bucket(batch size)": lambda n: NUMBERS.bucket([3], [n, 2]),
    "epoch(i)": lambda n: NUMBERS.epoch(n),
    "mix(seed)": lambda n: pipeline.mix([NUMBERS], seed=n),
    "interleave(cycle_length)": lambda n: pipeline.interleave([NUMBERS], n),
    "interleave(block_length)": lambda n: pipeline.interleave([NUMBERS], 2, n),
    "[i]": lambda n: NUMBERS[n],
}


@pytest.mark.parametrize("wrong", [True, False, 1.0, "1"])
@pytest.mark.parametrize("name", INTEGERS)
def test_numbers_are_integers(name, wrong):
    said = r"must be an integer, got (bool|float|str) |workers must be a number of threads"
    with pytest.raises(TypeError, match=said):
        INTEGERS[name](wrong)
