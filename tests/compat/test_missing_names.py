"""Names that the drop-in lacks say why, and what to use instead."""

import pytest

import pipeline.compat.v1 as tf


@pytest.mark.parametrize("name", ["Server", "ClusterSpec"])
def test_names_of_clusters(name):
    text = rf"no `tf\.train\.{name}`: there are no servers here.*RemoteQueue.*migrate"
    with pytest.raises(AttributeError, match=text):
        getattr(tf.train, name)


def test_distribute():
    with pytest.raises(AttributeError, match=r"no `tf\.distribute`: there are no servers here"):
        tf.distribute  # noqa: B018


def test_names_of_the_other_input_of_tensorflow():
    text = (
        r"no `tf\.data`: the drop-in is TensorFlow 1's input by queues: use tf\.train\.slice_input.*pipeline\.tf_data"
    )
    with pytest.raises(AttributeError, match=text):
        tf.data.Dataset  # noqa: B018
    with pytest.raises(AttributeError, match=r"no `tf\.losses`: model code: keep it in the framework"):
        tf.losses  # noqa: B018
    with pytest.raises(AttributeError, match=r"no `tf\.nn\.reluu`: model code.* Similar names: relu"):
        tf.nn.reluu  # noqa: B018
