"""The tests of each file of the core, for `make mutants`: those that fail soonest first, a few seconds in all."""

ROOMS = ("stages", "datasets", "workers", "queues", "runners")
CHAINS = tuple(
    f"dataset/test_chains.py::test_{name}"
    for name in (
        "a_chain_gives_what_plain_python_gives",
        "a_chain_gives_the_same_again_by_number_and_has_its_length",
        "a_chain_resumes_anywhere",
        "resumed_again_and_again_each_time_with_other_workers",
        "an_error_comes_after_what_does_not_need_its_element",
    )
)

# By room, then by file: names of files in tests/, without "test_" and ".py". The first part is that of the room, if
# none is given.
FOLDERS = {
    "stages": "dataset",
    "datasets": "dataset",
    "workers": "workers",
    "queues": "queues",
    "runners": "runners",
}
TESTS = {
    "stages": {
        "arrivals": "bucket pack token_batches",
        "block": "lists rows_of_arrays rows_of_blocks errors_in_order memory_of_elements large_results",
        "boundary": "bucket batches/buckets token_batches",
        "bucket": "bucket token_batches batches/buckets",
        "by_name": "take zip pack mix sort cache",
        "cache": "cache cache_phases cache_functions cache_ends",
        "cache_store": "cache cache_phases cache_functions cache_ends",
        "calls": "map_calls callables written_at example_rng cannot_work filter flat_map errors_in_order wrong_options",
        "checksum": "checksum resume/mismatch resume/every_moment",
        "collate": "batch batches/collate row_splits batches/stack_concatenate_pad_errors batches/nested_examples "
        "wrong_examples rows_of_blocks batches/stack_concatenate_pad types",
        "column_kinds": "cache cache_phases types long_texts",
        "crew": "map workers_of_items other_workers large_results example_rng read_once workers/map_ends "
        "workers/map_values errors_in_order timeouts workers/chunk_sizes closed_meanwhile",
        "draws": "random_numbers example_rng numbers_of_examples sample shuffle",
        "filling": "cache cache_phases cache_functions cache_ends",
        "functions": "map filter flat_map map_calls cannot_work written_at by_number random_numbers callables",
        "groups": "batch window indexed_batches batches_in_time_resume timed_batches_resume other_batch_size",
        "index": "by_number lists shuffle take skip indexed_batches errors_in_order rows_of_arrays",
        "interleave": "interleave numbers_of_examples other_hosts",
        "journal": "shuffle bucket pack held_before_pool sort",
        "kept_rows": "cache replay long_texts cache_phases types memory_of_elements",
        "lengths": "bucket pack token_batches batches/buckets",
        "mix": "mix mix_tokens other_weights cannot_work wrong_options by_number",
        "mixing": "mix mix_tokens other_weights numbers_of_examples",
        "node": "by_number cannot_work written_at lists take repeat wrong_options start epoch reports/show "
        "reports/datasets resume/mismatch",
        "pack": "pack pack_values wrong_examples",
        "packed": "pack pack_values wrong_examples",
        "padded": "shard hosts other_hosts",
        "padding": "batch bucket token_batches batches/stack_concatenate_pad_errors batches/stack_concatenate_pad",
        "part": "split",
        "passes": "repeat concatenate enumerate epoch numbers_of_examples by_number",
        "pool": "shuffle held_before_pool sample sort memory_of_elements",
        "prefetch": "prefetch timeouts live pump closed_meanwhile asyncio other_prefetch",
        "recipe_key": "checksum cache_functions cache resume/mismatch",
        "run": "lists epoch cannot_work left_out map_calls errors_in_order closed_meanwhile start files_changed",
        "schedule": "mix mix_tokens other_weights",
        "selection": "take skip shard shuffle sample by_number repeat hosts left_out cannot_work",
        "sort": "sort",
        "steps": "map filter flat_map map_calls errors_in_order rows_of_arrays rows_of_blocks workers_of_items",
        "stream": "lists take skip batch zip mix flat_map timeouts by_number errors_in_order",
        "sum_tree": "replay",
        "token_batches": "token_batches",
        "unbatch": "unbatch rows_of_blocks",
        "zipped": "zip errors_in_order",
    },
    "datasets": {
        "dataset": "lists cannot_work wrong_options by_number to_arrays hosts epoch start ./keywords ./wrong_arguments "
        "batch bucket reports/show",
        "iterator": "lists read_once start epoch asyncio timeouts closed_meanwhile within_next errors_raised_again "
        "live resume/mismatch forgotten interrupts",
        "mistakes": "./logs example_rng shuffle shard hosts left_out mix",
        "mixes": "other_weights mix mix_tokens",
        "moving": "other_batch_size other_hosts hosts indexed_batches",
        "parts": "reports/datasets reports/report reports/show reports/bottlenecks",
        "record": "lists resume/mismatch closed_meanwhile",
        "replay": "replay",
        "replay_files": "replay",
        "replay_rows": "replay",
        "share": "hosts shard cannot_work other_hosts",
        "spec": "types batch reports/show",
        "split": "split",
        "state": "resume/mismatch resume/other_input other_workers other_batch_size checksum hosts resume/edited",
    },
    "workers": {
        "auto": "judge auto",
        "choice": "processes map_values map_ends dataset/cannot_work",
        "chunks": "map_values map_ends processes chunk_sizes",
        "executor": "map_values map_ends nested_executors dataset/workers_of_items",
        "generators": "generators dataset/random_numbers",
        "given": "map_ends dataset/wrong_options map_values auto",
        "judge": "judge auto",
        "line": "processes processes_ends map_values",
        "needs": "kept_workers processes by_value",
        "odd_parts": "odd_parts by_value map_ends",
        "pickling": "odd_parts by_value map_ends processes",
        "pool": "pool map_ends processes kept_workers threads_interrupted",
        "process": "processes map_ends processes_ends kept_workers",
        "processes": "processes map_ends processes_ends kept_workers map_values",
        "server": "processes kept_workers processes_ends",
        "shared": "processes map_values dataset/large_results processes_ends",
        "spares": "kept_workers processes_ends",
        "thread_limits": "processes_surroundings",
        "threads": "pool map_ends map_values threads_interrupted nested_executors",
        "worker": "processes map_ends map_values generators processes_ends",
    },
    "queues": {
        "base": "queue_basics queue_from_list queue_iteration queue_values queue_misuse compat/hand_made_queues",
        "causes": "diagnostics/errors_why diagnostics/errors_why_waits queue_close runners/runner_outcomes",
        "components": "queue_constructor queue_infer queue_dtypes padding_queue queue_misuse",
        "frozen": "queue_values queue_out batches/gathered_rows",
        "kinds": "queue_basics queue_constructor shuffle_queue padding_queue padding_shuffle_queue priority_queue "
        "queue_iteration lockstep_queue",
        "rows": "queue_blocks batches/gathered_rows queue_vectors",
        "texts": "queue_blocking queue_close queue_timeout queue_basics diagnostics/errors_why padding_queue "
        "diagnostics/errors_why_waits",
        "typed": "queue_basics queue_blocking queue_close queue_timeout queue_iteration queue_hooks queue_blocks "
        "queue_values queue_misuse",
        "values": "queue_values queue_infer queue_dtypes queue_blocks queue_misuse bad_arrays",
        "waits": "diagnostics/errors_why_waits diagnostics/errors_why queue_close queue_timeout runners/runner",
    },
    "runners": {
        "coordinator": "coordinator coordinator_join coordinator_with coordinator_close_on_stop coordinator_looper",
        "copies": "coordinator_join runner_outcomes ./errors dataset/errors_raised_again",
        "enqueue_ops": "runner runner_outcomes",
        "looper": "coordinator_looper",
        "registry": "runner runner_outcomes coordinator_with batches/batch_functions",
        "runner": "runner runner_outcomes diagnostics/errors_why coordinator_close_on_stop",
    },
}


def files(root):
    """Return the paths of the files that are changed; each needs a row in the table."""
    found = [path for room in ROOMS for path in sorted((root / "pipeline" / room).glob("*.py"))]
    names = [path.relative_to(root).as_posix() for path in found if path.name != "__init__.py"]
    for name in names:
        tests_of(name)
    return names


def tests_of(path):
    """Return the tests of a file, as paths in tests/, those of random chains last."""
    _, room, name = path.removesuffix(".py").split("/")
    folder = FOLDERS[room]
    named = TESTS[room][name].split()
    chains = CHAINS if room == "stages" else ()
    return [*(where(folder, each) for each in named), *chains]


def where(folder, name):
    """Return the path of a file of tests in tests/."""
    inside, _, last = name.rpartition("/")
    return f"{inside or folder}/test_{last}.py"
