"""Names of programs on several machines say what to use instead."""

import pytest

import pipeline.compat.v1 as tf


@pytest.mark.parametrize("name", ["Server", "ClusterSpec"])
def test_names_of_clusters(name):
    text = rf"no `tf\.train\.{name}`: there are no servers here.*RemoteQueue.*#clusters"
    with pytest.raises(AttributeError, match=text):
        getattr(tf.train, name)


def test_distribute():
    with pytest.raises(AttributeError, match=r"no `tf\.distribute`: there are no servers here"):
        tf.distribute  # noqa: B018
