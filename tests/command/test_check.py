"""`python -m pipeline check`: TensorFlow names in a program, found without running it."""

import pathlib
import subprocess
import sys

import pytest
from helpers import LIMIT

from pipeline.command.check import Change, check, hint, known, report
from pipeline.command.cli import main

PROGRAMS = pathlib.Path(__file__).parents[1] / "compat" / "programs"


def names(source):
    """Return the names found in a program, by line."""
    checked = check(source)
    return sorted({(use.line, use.name) for use in checked.here + checked.missing})


def missing(source):
    return [(use.line, use.name) for use in check(source).missing]


def changes(source):
    return [(change.line, change.new) for change in check(source).changes]


@pytest.mark.parametrize(
    ("line", "change"),
    [
        ("import tensorflow as tf", "import pipeline.compat.v1 as tf"),
        ("import tensorflow.compat.v1 as tf", "import pipeline.compat.v1 as tf"),
        ("from tensorflow.compat import v1 as tf", "import pipeline.compat.v1 as tf"),
        ("import os, tensorflow as tf", "import pipeline.compat.v1 as tf"),
        ("try:\n    import tensorflow as tf\nexcept ImportError:\n    pass", "import pipeline.compat.v1 as tf"),
        ("import pipeline.compat.v1 as tf", None),
    ],
)
def test_ways_to_import_it(line, change):
    source = f"{line}\nq = tf.FIFOQueue(1, tf.float32)\n"
    last = source.count("\n")
    assert names(source) == [(last, "FIFOQueue"), (last, "float32")]
    assert [new for _, new in changes(source)] == ([change] if change else [])


def test_import_without_an_alias():
    source = "import tensorflow\nq = tensorflow.FIFOQueue(1, tensorflow.compat.v1.float32)\n"
    assert names(source) == [(2, "FIFOQueue"), (2, "float32")]
    assert changes(source) == [(1, "import pipeline.compat.v1 as tensorflow")]


def test_import_of_a_part():
    source = "from tensorflow import train, image as im\ntrain.batch([1], 2)\nim.resize_images(x, [1, 2])\n"
    assert (2, "train.batch") in names(source)
    assert (3, "image.resize_images") in names(source)
    assert changes(source) == [
        (1, "from pipeline.compat.v1 import train"),
        (1, "from pipeline.compat.v1 import image as im"),
    ]


def test_change_of_a_line_names_the_old_one():
    (change,) = check("import tensorflow as tf").changes
    assert change == Change(1, "import tensorflow as tf", "import pipeline.compat.v1 as tf")


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("import tensorflow.contrib.slim as slim", "contrib.slim"),
        ("from tensorflow.contrib import slim", "contrib.slim"),
        ("from tensorflow.python.framework import ops", "python.framework.ops"),
        ("from tensorflow.examples.tutorials.mnist import input_data", "examples.tutorials.mnist.input_data"),
        ("import tensorflow.keras", "keras"),
    ],
)
def test_import_of_what_is_missing(line, name):
    assert missing(line) == [(1, name)]
    assert changes(line) == []
    assert hint(name)


def test_uses_of_an_imported_module_that_is_missing():
    source = "from tensorflow.contrib import slim\nslim.conv2d(x, 3)\nslim.conv2d(y, 3)\n"
    assert missing(source) == [(1, "contrib.slim"), (2, "contrib.slim.conv2d"), (3, "contrib.slim.conv2d")]


def test_variables_that_stand_for_a_module():
    source = "import tensorflow as tf\nflags = tf.app.flags\nFLAGS = flags.FLAGS\nflags.DEFINE_nothing('x')\nFLAGS.x\n"
    assert (4, "app.flags.DEFINE_nothing") in names(source)


def test_what_is_looked_up_in_an_object_is_no_name():
    source = "import tensorflow as tf\ntf.float32.as_numpy_dtype\ntf.train.Example.FromString(b'')\ntf.float32.name.x\n"
    assert names(source) == [(2, "float32"), (3, "train.Example"), (4, "float32")]


def test_calls_in_a_chain():
    source = "import tensorflow as tf\ntf.train.AdamOptimizer(1e-3).minimize(tf.reduce_sum(loss))\n"
    assert names(source) == [(2, "reduce_sum"), (2, "train.AdamOptimizer")]


def test_names_that_no_input_program_needs_are_missing():
    dropped = ["nn.conv2d", "einsum", "linalg.svd", "erf", "bincount", "random.stateless_uniform", "repeat", "add_n"]
    source = "import tensorflow as tf\n" + "".join(f"tf.{name}(x)\n" for name in dropped)
    assert missing(source) == [(line, name) for line, name in enumerate(dropped, 2)]


def test_a_chain_over_lines():
    assert missing("import tensorflow as tf\nx = (tf.nothing\n  .more)\n") == [(3, "nothing.more")]


def test_other_modules_are_left_alone():
    source = (
        "import numpy as tf\nimport tensorflow_datasets as tfds\nfrom . import tensorflow\ntf.zeros(3)\ntfds.load()\n"
    )
    assert names(source) == []
    assert report("x.py", check(source)) == "x.py: does not use TensorFlow"


def test_names_in_functions_and_defaults():
    source = "import tensorflow as tf\ndef f(t=tf.int32):\n    async def g():\n        return [tf.nothing for _ in x]\n"
    assert names(source) == [(2, "int32"), (4, "nothing")]


def test_known():
    assert known("train.batch")
    assert known("train")
    assert known("float32.name")
    assert not known("train.nothing")
    assert not known("batch.x")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("train.AdamOptimizer", "model code"),
        ("gradients", "model code"),
        ("layers.dense", "model code"),
        ("data.Dataset.from_tensor_slices", "tf.train.slice_input_producer"),
        ("contrib.something", "tf.contrib"),
        ("python.ops.array_ops", "inside"),
        ("batch", "the drop-in has tf.train.batch"),
        ("train.Saver", "save"),
    ],
)
def test_hints(name, text):
    assert text in hint(name)


def test_no_hint():
    assert hint("nothing") == ""


def test_report():
    source = "import tensorflow as tf\ntf.FIFOQueue\ntf.gradients\ntf.gradients\ntf.nothing\ntf.train.batch\n"
    assert report("dir/x.py", check(source)).splitlines() == [
        "dir/x.py:1: change `import tensorflow as tf` to `import pipeline.compat.v1 as tf`",
        f"dir/x.py:3: tf.gradients is missing (also in line 4): {hint('gradients')}",
        "dir/x.py:5: tf.nothing is missing",
        "dir/x.py: the drop-in has 2 of the 4 TensorFlow names that it uses",
    ]


TRAINING = """\
import tensorflow as tf
x, y = tf.train.shuffle_batch([image, label], 32, 2000, 1000)
def inference(images):
    return tf.layers.dense(images, 10)
class Model:
    def __init__(self):
        self.loss = tf.losses.softmax_cross_entropy(y, inference(x))
        self.train_op = tf.train.AdamOptimizer(1e-3).minimize(self.loss)
model = Model()
step = tf.train.get_or_create_global_step()
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    while True:
        {fetch}
"""


@pytest.mark.parametrize(
    ("fetch", "call", "names"),
    [
        ("_, value = sess.run([model.train_op, model.loss])", "sess.run", "model.train_op and model.loss"),
        (
            "sess.run((step, model.train_op, model.loss, x), feed_dict={k: 1})",
            "sess.run",
            "model.train_op and model.loss",
        ),
        ("sess.run(fetches={'l': model.loss, 'x': x})", "sess.run", "model.loss"),
        ("model.loss.eval()", "model.loss.eval", "model.loss"),
        ("model.train_op.run(session=sess)", "model.train_op.run", "model.train_op"),
    ],
)
def test_fetches_of_the_model(fetch, call, names):
    """The import works and the batches come, and then `sess.run([train_op, loss])` has nothing to fetch."""
    source = TRAINING.format(fetch=fetch)
    (line,) = (line for line in report("train.py", check(source)).splitlines() if "fetch" in line)
    assert line == (
        f"train.py:14: {call} fetches {names}, made by model code: fetch the batch, as in sess.run([x, y]), and "
        "train on its arrays"
    )


@pytest.mark.parametrize("fetch", ["sess.run([x, y])", "sess.run(step)", "a = sess.run(x)", "tf.app.run(main)"])
def test_fetches_of_batches(fetch):
    assert check(TRAINING.format(fetch=fetch)).fetches == []


def test_what_is_returned_by_a_function_with_model_code():
    source = TRAINING.format(fetch="sess.run(inference(x))")
    assert [fetch.names for fetch in check(source).fetches] == [("inference(x)",)]


@pytest.mark.parametrize("program", sorted(PROGRAMS.glob("*.py")), ids=lambda path: path.stem)
def test_the_founding_programs_lack_nothing(program):
    checked = check(program.read_bytes())
    assert checked.here
    assert checked.missing == []


def test_status(tmp_path, capsys):
    good, bad, broken = tmp_path / "good.py", tmp_path / "bad.py", tmp_path / "broken.py"
    good.write_text("import tensorflow as tf\ntf.float32\n")
    bad.write_text("import tensorflow as tf\ntf.gradients\n")
    broken.write_text("x = 1\nprint 'python 2'\n")
    assert main(["check", str(good)]) == 0
    assert main(["check", str(good), str(bad)]) == 1
    assert capsys.readouterr().err == ""
    assert main(["check", str(broken), str(bad)]) == 2
    output = capsys.readouterr()
    assert output.err.startswith(f"pipeline check: {broken}:2: ")
    assert "tf.gradients is missing" in output.out


@pytest.mark.parametrize(
    ("data", "text"), [(None, "No such file"), (b"x = '\xff'\n", "(unicode error)"), (b"x = 1\0", "null bytes")]
)
def test_what_is_no_program(tmp_path, capsys, data, text):
    path = tmp_path / "x.py"
    if data is not None:
        path.write_bytes(data)
    assert main(["check", str(path)]) == 2
    assert f"pipeline check: {path}" in capsys.readouterr().err


def test_a_notebook_is_no_program_though_it_is_an_expression_of_python(tmp_path, capsys):
    path = tmp_path / "x.ipynb"
    path.write_text('{"cells": [{"cell_type": "code", "source": ["import tensorflow as tf"]}]}')
    assert main(["check", str(path)]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err == (
        f"pipeline check: {path}: a notebook: check what `jupyter nbconvert --to script {path}` writes\n"
    )


def test_encodings(tmp_path, capsys):
    path = tmp_path / "x.py"
    path.write_bytes("# -*- coding: gbk -*-\n# 样本\nimport tensorflow as tf\ntf.float32\n".encode("gbk"))
    assert main(["check", str(path)]) == 0
    path.write_bytes(b"\xef\xbb\xbfimport tensorflow as tf\r\ntf.float32\r\n")
    assert main(["check", str(path)]) == 0


def test_escapes_of_the_program_do_not_warn(tmp_path):
    assert check("import re\nre.compile('\\d')\n").missing == []


def test_command_line_in_a_process_of_its_own(tmp_path):
    path = tmp_path / "program.py"
    path.write_text("import tensorflow as tf\nraise SystemExit('it was run')\ntf.gradients\n")
    line = [sys.executable, "-m", "pipeline", "check", str(path)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.splitlines()[-1] == f"{path}: the drop-in has 0 of the 1 TensorFlow names that it uses"


def test_no_program_given(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["check"])
    assert caught.value.code == 2
