"""Functions with many options suggest the closest option for a misspelled name.

The tests read the private tables, so that they cover every option.
"""

import inspect

import pytest
from helpers import raises

import pipeline
from pipeline import keywords

FUNCTIONS = [
    *("input_producer", "string_input_producer", "range_input_producer", "slice_input_producer"),
    *("arrays", "arrow", "parquet", "feather", "csv", "text", "huggingface", "grain", "tf_data", "image_folder"),
    *("audio", "video", "array_record", "lance", "vortex"),
    *("webdataset", "batch", "shuffle_batch", "batch_join", "shuffle_batch_join", "bucket_by_sequence_length"),
]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_may_have_been_meant(name):
    function = getattr(pipeline, name)
    option = list(inspect.signature(function).parameters)[-1]
    for wrong in (f"{option}x", f"x{option}"):
        text = f"{name}() got an unexpected keyword argument '{wrong}'. Did you mean '{option}'?"
        with raises(TypeError, text):
            function(**{wrong: 1})
    with raises(TypeError, f"{name}() got an unexpected keyword argument 'zzzzzz'. It takes "):
        function(zzzzzz=1)


def test_each_of_several_wrong_arguments_is_named():
    """A user coming from another loader passes all of its arguments at once."""
    text = (
        "csv() got 3 unexpected keyword arguments:\n"
        "'sep': Did you mean 'field_delim'?\n"
        "'usecols': Did you mean 'columns'?\n"
        "'batch_size': Write it behind: csv(...).batch(...)."
    )
    with raises(TypeError, text):
        pipeline.csv("x.csv", sep=";", usecols=["a"], num_epochs=2, batch_size=3)


def test_a_missing_argument_is_told_as_ever():
    with pytest.raises(TypeError, match=r"missing 1 required positional argument"):
        pipeline.string_input_producer(num_epochs=1)


SOURCES = [
    *("arrays", "arrow", "parquet", "feather", "csv", "text", "huggingface", "grain", "tf_data", "image_folder"),
    *("video", "array_record", "lance", "vortex"),
]
LOOPS = "batch", "shuffle_batch", "batch_join", "shuffle_batch_join", "bucket_by_sequence_length"


def takes(name, option):
    return option in inspect.signature(getattr(pipeline, name)).parameters


@pytest.mark.parametrize("name", [*SOURCES, "webdataset", "string_input_producer", "slice_input_producer"])
def test_options_of_the_loop_passed_to_its_source(name):
    for option in sorted(keywords._OF_LOOPS):
        assert takes("shuffle_batch", option)
        text = f"{name}() got an unexpected keyword argument '{option}'. It is an argument of the batch functions, such"
        text = f"{text} as pipeline.shuffle_batch(source, ..., {option}=...)."
        if option == "batch_size" and not name.endswith("producer"):
            text = f"{name}() got an unexpected keyword argument 'batch_size'. Write it behind: {name}(...).batch(...)."
        with raises(TypeError, text):
            getattr(pipeline, name)(**{option: 1})


@pytest.mark.parametrize("name", SOURCES)
def test_options_of_functions_passed_to_a_source(name):
    for option in sorted(keywords._OF_CALLS):
        assert option in inspect.signature(pipeline.Dataset.map).parameters
        text = f"{name}() got an unexpected keyword argument '{option}'. "
        hint = f"It is an option of a dataset's methods, such as .map(function, {option}=...)."
        if option == "workers":
            hint = f"Write it behind: {name}(...).map(function, workers=...)."
        with raises(TypeError, text + hint):
            getattr(pipeline, name)(**{option: 1})


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("word", ["drop_last", "drop_remainder"])
def test_drop_remainder_passed_to_a_source(name, word):
    text = f"{name}() got an unexpected keyword argument '{word}'. Write it behind: {name}(...).batch(100, "
    with raises(TypeError, f"{text}drop_remainder=...)."):
        getattr(pipeline, name)(**{word: True})


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize(("word", "subject"), [("workers", "It"), ("num_workers", "'workers'")])
def test_workers_passed_to_a_loop(name, word, subject):
    text = f"{name}() got an unexpected keyword argument '{word}'. {subject} is an option of a dataset's methods, such "
    with raises(TypeError, f"{text}as .map(function, workers=...)."):
        getattr(pipeline, name)(**{word: 1})


@pytest.mark.parametrize("name", LOOPS)
def test_options_of_the_source_passed_to_its_loop(name):
    for option in sorted(keywords._OF_SOURCES):
        assert takes("arrays", option)
        text = f"{name}() got an unexpected keyword argument '{option}'. It is an argument of the sources, such as "
        with raises(TypeError, f"{text}pipeline.arrays(data, {option}=...)."):
            getattr(pipeline, name)(**{option: 1})


@pytest.mark.parametrize(
    ("name", "word", "ours"),
    [
        ("csv", "sep", "'field_delim'"),
        ("csv", "delimiter", "'field_delim'"),
        ("csv", "usecols", "'columns'"),
        ("batch", "drop_last", "'allow_smaller_final_batch' (which means the opposite)"),
        ("shuffle_batch", "drop_remainder", "'allow_smaller_final_batch' (which means the opposite)"),
    ],
)
def test_words_of_other_libraries(name, word, ours):
    with raises(TypeError, f"{name}() got an unexpected keyword argument '{word}'. Did you mean {ours}?"):
        getattr(pipeline, name)(**{word: 1})


@pytest.mark.parametrize(
    ("word", "ours"),
    [
        ("encoding", "Decode in the dataset: .map(lambda x: x.decode())."),
        ("fingerprint", "Write .checksum() in the dataset."),
        ("function", "Write pipeline.dataset(x).map(function).batch(n)."),
        ("keep_input", "Write pipeline.dataset(x).filter(function).batch(n)."),
        ("ragged", "For ragged='pad' write .batch(n, pad=0), for 'row_splits' .batch(n, collate='row_splits')."),
        ("shard", "Write pipeline.dataset(x).shard(i, n).batch(n)."),
    ],
)
def test_arguments_of_version_0_2(word, ours):
    for name, call in {"batch": pipeline.batch, "Dataset.batch": pipeline.dataset([1]).batch}.items():
        with raises(TypeError, f"{name}() got an unexpected keyword argument '{word}'. {ours}"):
            call(**{word: 1})
