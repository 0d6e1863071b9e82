"""Wrong names of options are told by every function that takes many: which one may have been meant."""

import inspect

import pytest
from helpers import raises

import pipeline

FUNCTIONS = [
    *("input_producer", "string_input_producer", "range_input_producer", "slice_input_producer", "map_ahead"),
    *("arrays", "arrow", "parquet", "feather", "csv", "text", "huggingface", "grain", "tf_data", "image_folder"),
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


def test_a_missing_argument_is_told_as_ever():
    with pytest.raises(TypeError, match=r"missing 1 required positional argument"):
        pipeline.string_input_producer(num_epochs=1)
