"""Tests per file in the core, for `make mutants`: those that fail soonest first, a few seconds in all."""

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

# The folder in tests/ of each room, and the tests of files without a row in the table.
FOLDERS = {
    "stages": "dataset",
    "datasets": "dataset",
    "workers": "workers",
    "queues": "queues",
    "runners": "runners",
}
OTHERS = {
    "stages": "batch map take shuffle by_number errors_in_order rows_of_arrays",
    "datasets": "lists epoch cannot_work shard resume/mismatch",
    "workers": "map_values map_ends processes pool",
    "queues": "queue_basics queue_values queue_close queue_blocks",
    "runners": "runner runner_outcomes coordinator",
}

# By room, then by file: files in tests/, without "test_" and ".py". Those without a folder are in that of the room.
# Chosen by the lines that they run and by their time; the first ones fail soonest.
TESTS = {
    "stages": {
        "arrivals": "bucket pack token_batches",
        "batch_rows": "large_rows_in_batches large_results batch map",
        "block": "lists rows_of_arrays rows_of_blocks errors_in_order large_results batches/batch_join zip "
        "batches/masked_values",
        "boundary": "bucket batches/buckets token_batches",
        "bucket": "bucket token_batches batches/buckets",
        "by_name": "take zip pack mix sort cache read_once",
        "cache": "cache cache_functions",
        "cache_store": "cache cache_functions",
        "calls": "map_calls callables written_at example_rng cannot_work filter flat_map errors_in_order wrong_options",
        "checksum": "checksum resume/mismatch",
        "collate": "batch batches/collate row_splits batches/stack_concatenate_pad_errors "
        "batches/nested_examples wrong_examples rows_of_blocks batches/stack_concatenate_pad "
        "types batches/unsigned_values lists written_at token_batches batches/batch_functions",
        "column_kinds": "cache types long_texts cache_functions replay",
        "crew": "map workers_of_items other_workers large_results example_rng read_once workers/map_ends "
        "workers/map_values errors_in_order timeouts closed_meanwhile within_next callables live "
        "workers/pool workers/nested_executors large_rows_in_batches reports/datasets",
        "draws": "random_numbers example_rng numbers_of_examples sample shuffle",
        "filling": "cache cache_functions",
        "functions": "map filter flat_map map_calls cannot_work written_at by_number random_numbers callables "
        "workers/generators checks/faults",
        "groups": "batch window indexed_batches batches_in_time_resume timed_batches_resume "
        "other_batch_size checksum lists resume/mismatch token_batches cannot_work other_workers",
        "index": "by_number lists shuffle take skip indexed_batches errors_in_order rows_of_arrays zip shard",
        "interleave": "interleave numbers_of_examples hosts batches_in_time_resume",
        "journal": "shuffle bucket pack held_before_pool sort",
        "kept_rows": "cache replay long_texts types cache_functions",
        "lengths": "bucket pack token_batches batches/buckets other_weights",
        "mix": "mix mix_tokens other_weights cannot_work wrong_options by_number files_changed read_once "
        "resume/mismatch",
        "mixing": "mix mix_tokens other_weights numbers_of_examples files_changed held_before_pool",
        "node": "by_number cannot_work written_at lists take repeat wrong_options start epoch "
        "reports/show reports/datasets resume/mismatch checksum hosts loading_after_opening "
        "cache_functions workers_of_items",
        "pack": "pack pack_values wrong_examples held_before_pool",
        "packed": "pack pack_values wrong_examples",
        "padded": "shard hosts other_hosts",
        "padding": "batch bucket token_batches batches/stack_concatenate_pad_errors batches/stack_concatenate_pad",
        "part": "split",
        "passes": "repeat concatenate enumerate epoch numbers_of_examples by_number",
        "pool": "shuffle held_before_pool sample sort start numbers_of_examples batches/refilled_blocks",
        "prefetch": "prefetch timeouts live pump closed_meanwhile asyncio other_prefetch reports/datasets",
        "recipe_key": "checksum cache_functions cache resume/mismatch",
        "run": "lists epoch cannot_work left_out map_calls errors_in_order closed_meanwhile start "
        "files_changed zip hosts",
        "schedule": "mix mix_tokens other_weights files_changed read_once resume/mismatch",
        "selection": "take skip shard shuffle sample by_number repeat hosts left_out cannot_work "
        "resume/mismatch held_before_pool "
        "other_hosts",
        "sort": "sort checksum written_at",
        "steps": "map filter flat_map map_calls errors_in_order rows_of_arrays rows_of_blocks "
        "workers_of_items read_once batches/sources row_splits errors_raised_again "
        "workers/map_ends batches_in_time_resume",
        "stream": "lists take skip batch zip mix flat_map timeouts by_number errors_in_order "
        "batches_in_time_resume token_batches other_weights",
        "sum_tree": "replay batches/masked_values",
        "token_batches": "token_batches",
        "unbatch": "unbatch rows_of_blocks batches/sources",
        "zipped": "zip errors_in_order read_once",
    },
    "datasets": {
        "dataset": "lists cannot_work wrong_options by_number to_arrays hosts epoch start ./keywords "
        "./wrong_arguments batch bucket reports/show written_at read_once token_batches "
        "large_numbers cache_functions shard numbers_of_examples adaptors/common_mistakes",
        "iterator": "lists read_once start epoch asyncio timeouts closed_meanwhile within_next "
        "errors_raised_again live resume/mismatch batches/batch_options checksum "
        "diagnostics/error_chains workers/map_ends loading_after_opening "
        "other_hosts",
        "mistakes": "./logs example_rng shuffle shard hosts left_out mix read_once errors_raised_again "
        "batches/many_files batch adaptors/common_mistakes",
        "mixes": "other_weights mix mix_tokens files_changed resume/mismatch start",
        "moving": "other_batch_size other_hosts hosts indexed_batches zip files_changed token_batches shard",
        "parts": "reports/datasets reports/report reports/show reports/bottlenecks batches/batch_options",
        "record": "lists resume/mismatch closed_meanwhile",
        "replay": "replay batches/masked_values long_texts",
        "replay_files": "replay",
        "replay_rows": "replay",
        "share": "hosts shard cannot_work diagnostics/users_frames",
        "spec": "types batch reports/show lists",
        "split": "split",
        "state": "resume/mismatch resume/other_input other_workers other_batch_size checksum hosts files_changed shard",
    },
    "workers": {
        "auto": "judge auto dataset/live",
        "choice": "processes map_values map_ends dataset/cannot_work",
        "chunks": "map_values map_ends processes",
        "executor": "map_values map_ends nested_executors dataset/workers_of_items",
        "generators": "generators dataset/random_numbers dataset/read_once",
        "given": "map_ends dataset/wrong_options map_values auto odd_parts dataset/live",
        "judge": "judge auto",
        "line": "processes processes_ends map_values pool",
        "needs": "kept_workers processes by_value generators",
        "odd_parts": "odd_parts by_value map_ends",
        "pickling": "odd_parts by_value map_ends processes map_values",
        "pool": "pool map_ends processes kept_workers threads_interrupted generators checks/faults "
        "dataset/errors_in_order",
        "process": "processes map_ends processes_ends kept_workers pool dataset/errors_in_order",
        "processes": "processes map_ends kept_workers map_values pool dataset/errors_in_order auto processes_ends",
        "server": "processes kept_workers generators",
        "shared": "processes map_values dataset/large_results pool",
        "spares": "kept_workers processes_ends odd_parts auto",
        "thread_limits": "processes_surroundings",
        "threads": "pool map_ends map_values threads_interrupted nested_executors",
        "worker": "processes map_ends map_values generators kept_workers processes_surroundings processes_ends",
    },
    "queues": {
        "base": "queue_basics queue_from_list queue_iteration queue_values queue_misuse "
        "compat/hand_made_queues queue_close runners/runner_outcomes",
        "causes": "diagnostics/errors_why diagnostics/errors_why_waits queue_close runners/runner_outcomes",
        "components": "queue_constructor queue_infer queue_dtypes padding_queue queue_misuse queue_values queue_close",
        "frozen": "queue_values queue_out batches/gathered_rows queue_held_rows workers/map_ends",
        "kinds": "queue_basics queue_constructor shuffle_queue padding_queue padding_shuffle_queue "
        "priority_queue queue_iteration lockstep_queue queue_infer",
        "rows": "queue_blocks batches/gathered_rows queue_vectors producers/producers_slices",
        "texts": "queue_blocking queue_close queue_timeout queue_basics diagnostics/errors_why "
        "padding_queue diagnostics/errors_why_waits queue_out",
        "typed": "queue_basics queue_blocking queue_close queue_timeout queue_iteration queue_hooks "
        "queue_blocks queue_values queue_misuse queue_out queue_infer queue_from_list "
        "diagnostics/errors_why_waits",
        "values": "queue_values queue_infer queue_dtypes queue_blocks queue_misuse bad_arrays",
        "waits": "diagnostics/errors_why_waits diagnostics/errors_why queue_close queue_timeout runners/runner",
    },
    "runners": {
        "coordinator": "coordinator coordinator_join coordinator_with coordinator_close_on_stop coordinator_looper",
        "copies": "coordinator_join runner_outcomes ./errors dataset/errors_raised_again coordinator",
        "enqueue_ops": "runner runner_outcomes",
        "looper": "coordinator_looper",
        "registry": "runner runner_outcomes coordinator_with batches/batch_functions",
        "runner": "runner runner_outcomes diagnostics/errors_why coordinator_close_on_stop",
    },
}


def files(root):
    """Return the paths of changed files."""
    found = [path for room in FOLDERS for path in sorted((root / "pipeline" / room).glob("*.py"))]
    return [path.relative_to(root).as_posix() for path in found if path.name != "__init__.py"]


def tests_of(path):
    """Return the tests of a file, as paths in tests/, those of random chains last."""
    _, room, name = path.removesuffix(".py").split("/")
    named = TESTS[room].get(name, OTHERS[room]).split()
    chains = CHAINS if room == "stages" else ()
    return [*(where(FOLDERS[room], each) for each in named), *chains]


def where(folder, name):
    """Return a test file's path in tests/."""
    inside, _, last = name.rpartition("/")
    return f"{inside or folder}/test_{last}.py"
