"""Names missing in the drop-in give the reason and an alternative."""

import operator
import pathlib
import re

import pytest

import pipeline.compat.v1 as tf
from pipeline.command.check import check, hint, known
from pipeline.compat import hints
from pipeline.compat.names import MODULES

# Names that the drop-in once had.
LISTED = pathlib.Path(__file__).with_name("gone.txt")
GONE = LISTED.read_text().split()


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


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("Barrier", "use a FIFOQueue for each part"),
        ("ConditionalAccumulator", "model code"),
        ("config", "TensorFlow 2.*deterministic=True"),
        ("RaggedTensor", "tf.sparse_tensor_to_dense pads them"),
        ("ragged", "tf.sparse_tensor_to_dense pads them"),
        ("strings.unicode_decode", "decode the text in Python"),
        ("strings.bytes_split", "decode the text in Python"),
        ("contrib.lookup.MutableHashTable", "use tf.contrib.lookup.index_table_from_tensor"),
        ("lookup.experimental", "use tf.contrib.lookup.index_table_from_tensor"),
        ("assert_rank", "compare `x.shape`"),
        ("debugging.assert_shapes", "compare `x.shape`"),
        ("sparse_add", "make it dense"),
        ("sparse.reduce_sum", "make it dense"),
        ("linalg.norm", "np.linalg in a tf.py_func"),
        ("math.angle", "NumPy in a tf.py_func"),
        ("py_function", "use tf.py_func"),
        ("string_to_hash_bucket_strong", "use tf.string_to_hash_bucket_fast"),
    ],
)
def test_names_that_went(name, instead):
    with pytest.raises(AttributeError, match=f"no `tf.{name}`: .*{instead}"):
        operator.attrgetter(name)(tf)
    assert re.search(instead, hint(name))


@pytest.mark.parametrize("name", GONE)
def test_each_name_that_went_says_what_to_use(name):
    assert not known(name), f"tf.{name} was removed on purpose. If it comes back, take it out of {LISTED}"
    assert hint(name)
    with pytest.raises(AttributeError) as caught:
        operator.attrgetter(name)(tf)
    reason = hints.reason(name) or hints.reason(name.rpartition(".")[0])
    assert reason
    assert reason in str(caught.value)


def test_hints_name_what_is_there_and_explain_what_is_not():
    """The test reads the private table to cover every hint."""
    texts = " ".join(hints._WHY)
    for name in re.findall(r"tf\.([a-z][\w.]*\w)", texts):
        assert known(name) or name in ("contrib", "data.Dataset"), name
    parts = [name.partition("=")[0].split(".") for names in MODULES.values() for name in names.split()]
    spaces = {".".join(each[:end]) for each in parts for end in range(1, len(each))}  # hints explain their other names
    offered = {name for names in hints._WHY.values() for name in names.split() if known(name)}
    assert offered - spaces == set(), "they are there: take them out of pipeline/compat/hints.py"


def test_the_table_of_missing_names_has_none_that_is_there():
    page = (pathlib.Path(__file__).parents[2] / "docs" / "migrate.md").read_text()
    rows = re.findall(r"^\| (.+?) \|", page.partition("\n## What is missing")[2].partition("\n## ")[0], re.MULTILINE)
    names = {name for row in rows for name in re.findall(r"`(?:tf\.)?([\w.]+)`", row) if known(name)}
    # The names exist, but lack parts: namespaces, calls to py_func that wait for each other, other activations.
    partly = {"compat", "contrib", "version", "py_func", "sigmoid", "tanh"}
    assert len(rows) > 50
    assert names == partly, "they are there: take them out of the table in docs/migrate.md"


def test_check_knows_what_a_namespace_has_besides_its_table():
    source = (
        "import tensorflow as tf\ntf.compat.v1.disable_eager_execution()\nprint(tf.__version__, tf.compat.v1.add)\n"
    )
    assert check(source).missing == []
    assert tf.__version__
    assert tf.compat.v1 is tf


def test_ragged_parts_of_strings():
    with tf.Graph().as_default(), pytest.raises(ValueError, match=r"no ragged tensors.*sparse_tensor_to_dense"):
        tf.strings.split(["a b"], result_type="RaggedTensor")


@pytest.mark.parametrize(
    ("name", "became"),
    [
        ("pack", "stack"),
        ("unpack", "unstack"),
        ("mul", "multiply"),
        ("sub", "subtract"),
        ("neg", "negative"),
        ("select", "where"),
        ("batch_matmul", "matmul"),
        ("inv", "reciprocal"),
        ("scalar_summary", "summary.scalar"),
        ("image_summary", "summary.image"),
        ("merge_all_summaries", "summary.merge_all"),
        ("train.SummaryWriter", "summary.FileWriter"),
        ("image.per_image_whitening", "image.per_image_standardization"),
    ],
)
def test_names_of_before_tensorflow_1(name, became):
    text = f"its name since TensorFlow 1.0 is tf.{became}"
    with pytest.raises(AttributeError, match=f"no `tf.{name}`: {text}"):
        operator.attrgetter(name)(tf)
    assert hint(name) == text
    operator.attrgetter(became)(tf)


@pytest.mark.parametrize(
    ("call", "name", "now"),
    [
        ("tf.concat(1, [a, a])", "concat(concat_dim, values)", r"tf.concat(values, axis)"),
        ("tf.split(1, 2, a)", "split(split_dim, num_split, value)", r"tf.split(value, num"),
    ],
)
def test_orders_of_arguments_of_before_tensorflow_1(call, name, now):
    missing = check(
        f"import tensorflow as tf\na = tf.constant([[1, 2]])\n{call}\ntf.concat([a], 1)\ntf.split(a, 2)"
    ).missing
    assert missing == [(3, name)]
    assert now in hint(name)
    with tf.Graph().as_default(), pytest.raises(ValueError, match=re.escape(now)):
        eval(call, {"tf": tf, "a": tf.constant([[1, 2]])})


def test_without_parameter_servers_a_device_setter_places_nothing():
    with tf.Graph().as_default(), tf.device(tf.train.replica_device_setter(0)):
        assert tf.constant(1).device == ""
    with pytest.raises(ValueError, match="got ps_tasks=2, expected ps_tasks=0"):
        tf.train.replica_device_setter(2)


def test_a_count_of_epochs_that_is_not_set_names_its_initializer():
    with tf.Graph().as_default():
        row = tf.train.slice_input_producer([[1, 2]], num_epochs=1)
        coord = tf.train.Coordinator()
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            threads = tf.train.start_queue_runners(sess, coord)
            with pytest.raises(tf.errors.OutOfRangeError):
                sess.run(row)
            with pytest.raises(tf.errors.FailedPreconditionError, match=r"epochs\nRun tf.local_variables_initializer"):
                coord.join(threads)
        other = tf.Variable(1)
        with tf.Session() as sess, pytest.raises(tf.errors.FailedPreconditionError) as caught:
            sess.run(other)
    assert "local_variables" not in str(caught.value)
