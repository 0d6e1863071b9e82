"""Unknown keyword arguments: a TypeError with the likely intended one."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

# Other libraries' words: the name here, and the difference.
_OTHER_WORDS = {
    "delimiter": ("field_delim", ""),
    "drop_last": ("allow_smaller_final_batch", " (which means the opposite)"),
    "drop_remainder": ("allow_smaller_final_batch", " (which means the opposite)"),
    "num_workers": ("workers", ""),
    "sep": ("field_delim", ""),
    "usecols": ("columns", ""),
}

# Dataset methods and functions in version 0.2, tf.data, Grain, Hugging Face and torch, and what to write here.
_OTHER_METHODS = {
    "as_numpy_iterator": "iter(dataset)",
    "bucket_by_sequence_length": ".bucket(boundaries, batch_sizes)",
    "cardinality": "len(dataset)",
    "choose_from_datasets": "pipeline.mix or pipeline.interleave",
    "cursor": "iter(dataset.batch(n))",
    "element_spec": ".spec",
    "from_generator": "pipeline.dataset(function)",
    "from_list": "pipeline.dataset(items)",
    "from_tensor_slices": "pipeline.arrays(x)",
    "ignore_errors": "on_error='skip' of map, filter and flat_map",
    "FixedLengthRecordDataset": "pipeline.fixed_length(paths, record_bytes)",
    "TFRecordDataset": "pipeline.tfrecord(paths)",
    "TextLineDataset": "pipeline.text(paths)",
    "interleave": "pipeline.interleave(dataset.map(f), cycle_length, block_length)",
    "map_with_index": ".enumerate().map(f)",
    "mix": "pipeline.mix(datasets, weights)",
    "make_csv_dataset": "pipeline.csv(paths).batch(n)",
    "mp_prefetch": "workers=pipeline.processes(n) of map, and .prefetch(n)",
    "padded_batch": ".batch(n, pad=0)",
    "ragged_batch": ".batch(n, collate='row_splits')",
    "random_map": ".map(f), where f calls pipeline.example_rng()",
    "range": "pipeline.dataset(range(n))",
    "read_csv": "pipeline.csv(paths)",
    "rebatch": ".unbatch().batch(n)",
    "sample_from_datasets": "pipeline.mix(datasets, weights)",
    "select": ".take(n) and .skip(n)",
    "shuffle_batch": ".shuffle(n).batch(n)",
    "to_iter_dataset": "iter(dataset)",
    "with_options": "the options of each method, such as workers=",
    "zip": "pipeline.zip(a, b)",
}

# Options only for batch functions and options only for sources, because people mix them up.
_OF_LOOPS = frozenset(
    {
        *("allow_smaller_final_batch", "batch_size", "deterministic", "dynamic_pad", "min_after_dequeue"),
        "num_threads",
    }
)
# Options for functions called by a dataset. People pass them to sources and batch functions.
_OF_CALLS = frozenset({"max_errors", "on_error", "workers"})
_OF_SOURCES = frozenset({"num_epochs", "shuffle"})


# Arguments of other libraries' loaders, and the dataset method replacing each.
_IN_DATASETS = {
    "batch_sampler": ".batch({}), .bucket({}) or .pack({})",
    "batch_size": ".batch({})",
    "collate_fn": ".batch(100, collate={})",
    "drop_last": ".batch(100, drop_remainder={})",
    "drop_remainder": ".batch(100, drop_remainder={})",
    "generator": ".shuffle(seed={})",
    "in_order": ".map(function, workers=4, ordered={})",
    "multiprocessing_context": ".map(function, workers=pipeline.processes(4, method={}))",
    "num_workers": ".map(function, workers={})",
    "persistent_workers": ".map(function, workers=workers), all within `with pipeline.processes(4) as workers:`",
    "prefetch_factor": ".prefetch({})",
    "sampler": ".shuffle(seed=1), .sample({}) or .shard({})",
    "seed": ".shuffle(seed={})",
    "shuffle": ".shuffle(seed=1)",
    "timeout": ".prefetch(1), and call loader.loop.next(timeout={})",
    "worker_init_fn": ".map(function, workers=pipeline.processes(4, setup={}))",
    "workers": ".map(function, workers={})",
}


# Other libraries' names for arguments of dataset methods. The first one accepted by the method is meant.
_OF_DATASETS = {
    "batch_sizes": ("bucket_batch_sizes",),
    "boundaries": ("bucket_boundaries",),
    "buffer_size": ("buffer", "capacity", "size"),
    "collate": ("collate_fn", "collate_function"),
    "drop_remainder": ("drop_last",),
    "function": ("fn", "func", "map_func", "predicate", "transform"),
    "i": ("epoch", "index", "rank", "shard_index"),
    "length": ("element_length_func", "seq_length"),
    "max_tokens": ("batch_tokens", "max_batch_tokens", "token_budget", "tokens"),
    "method": ("packing_algorithm",),
    "n": (
        *("batch_size", "buffer_size", "count", "num_epochs", "num_samples", "num_shards", "prefetch_factor", "size"),
        *("times", "world_size"),
    ),
    "ordered": ("deterministic",),
    "pad": ("fill_value", "pad_value", "padding_value", "padding_values"),
    "pad_side": ("padding_side",),
    "pad_to": ("max_length", "pad_to_length"),
    "stride": ("shift", "step"),
    "workers": ("num_parallel_calls", "num_threads", "num_workers", "parallel", "threads"),
}


# Arguments of version 0.2's batch functions, as dataset steps.
_OF_0_2 = {
    "encoding": "Decode in the dataset: .map(lambda x: x.decode())",
    "fingerprint": "Write .checksum() in the dataset",
    "function": "Write pipeline.dataset(x).map(function).batch(n)",
    "keep_input": "Write pipeline.dataset(x).filter(function).batch(n)",
    "ragged": "For ragged='pad' write .batch(n, pad=0), for 'row_splits' .batch(n, collate='row_splits')",
    "shard": "Write pipeline.dataset(x).shard(i, n).batch(n)",
}

# Arguments of version 0.3, by method.
_REMOVED = {
    ("Dataset.pack", "split"): "For split=True leave it out, for split=False write method='first_fit', long='error'.",
    ("DatasetIterator.fingerprint", "content"): "Leave it out: a fingerprint always covers the contents of examples.",
}


def tells_keywords(function: Callable[P, R]) -> Callable[P, R]:
    """Wrap a function or method so that a wrong keyword argument is reported as in `refusing_others`."""
    return refusing_others(function, _names(function))


def tells_keywords_too(more: Callable[..., object]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Wrap as `tells_keywords` does, with another function's keyword arguments as `**options`; `help` shows them."""
    signature = inspect.signature(more)
    options = [each for each in signature.parameters.values() if each.kind is each.KEYWORD_ONLY]

    def wrap(function: Callable[P, R]) -> Callable[P, R]:
        own = inspect.signature(function)
        named = [each for each in own.parameters.values() if each.kind is not each.VAR_KEYWORD]
        whole = own.replace(parameters=[*named, *options])
        checked = refusing_others(function, [name for name in whole.parameters if name != "self"])
        vars(checked)["__signature__"] = whole
        return checked

    return wrap


def _names(function: Callable[..., object]) -> list[str]:
    return [name for name in inspect.signature(function).parameters if name != "self"]


def refusing_others(function: Callable[P, R], known: Sequence[str]) -> Callable[P, R]:
    """Wrap a function so that an unknown keyword argument is a TypeError with a hint."""
    names = frozenset(known)

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        if not names.issuperset(kwargs):
            raise unknown_keywords(function.__qualname__, [name for name in kwargs if name not in names], known)
        return function(*args, **kwargs)

    return checked


def unknown_keywords(function: str, names: Sequence[str], known: Sequence[str]) -> TypeError:
    """Return the error for unknown keyword arguments.

    Args:
        function: The function's name.
        names: The arguments.
        known: The valid names.
    """
    if len(names) == 1:
        hint = _hint(function, names[0], known)
        return TypeError(f"{function}() got an unexpected keyword argument '{names[0]}'. {hint}")
    lines = [f"'{name}': {_hint(function, name, known)}" for name in names]
    return TypeError("\n".join([f"{function}() got {len(names)} unexpected keyword arguments:", *lines]))


def _meant(name: str, known: Sequence[str]) -> str | None:
    """Return a dataset method's argument with this name in other libraries; None if there is none."""
    return next((word for word, others in _OF_DATASETS.items() if word in known and name in others), None)


def _hint(function: str, name: str, known: Sequence[str]) -> str:
    if removed := _REMOVED.get((function, name)):
        return removed
    if not known:
        return "It takes none."
    if name in _OF_0_2 and ("capacity" in known or function == "Dataset.batch"):
        return f"{_OF_0_2[name]}."
    if name in _IN_DATASETS and known[0] in ("data", "dataset") and "num_epochs" not in known:
        return f"Write it into the dataset: {_IN_DATASETS[name].replace('{}', '...')}."
    if "workers" in known and _meant(name, known) == "workers":
        return "Did you mean 'workers'?"
    makes_dataset = known[0] == "given" or ("num_epochs" in known and "capacity" not in known)
    if name in _IN_DATASETS and makes_dataset:
        return f"Write it behind: {function}(...){_IN_DATASETS[name].replace('{}', '...')}."
    if "num_epochs" not in known and (meant := _meant(name, known)) is not None:
        return f"Did you mean '{meant}'?"
    word, difference = _OTHER_WORDS.get(name, (name, ""))
    if word in known:
        return f"Did you mean '{word}'{difference}?"
    subject = "It" if word == name else f"'{word}'{difference}"
    if word in _OF_CALLS and ("num_epochs" in known or "tensors" in known or "tensors_list" in known):
        return f"{subject} is an option of a dataset's methods, such as .map(function, {word}=...)."
    if word in _OF_LOOPS and "num_epochs" in known:
        return (
            f"{subject} is an argument of the batch functions, such as pipeline.shuffle_batch(source, ..., {word}=...)."
        )
    if word in _OF_SOURCES and "batch_size" in known:
        return f"{subject} is an argument of the sources, such as pipeline.arrays(data, {word}=...)."
    import difflib  # 1 ms, needed only for this mistake

    near = [each for each in known if each.startswith(name)] or difflib.get_close_matches(name, known, 1, 0.6)
    return f"Did you mean '{near[0]}'?" if near else f"It takes {', '.join(known)}."


def in_other_words(name: str) -> str:
    """Return the replacement for another library's name, as the end of an error; "" if unknown."""
    return f": write {_OTHER_METHODS[name]}" if name in _OTHER_METHODS else ""
