"""Imports are lazy: few at first, and operators on their first use."""

import subprocess
import sys

PROGRAM = """
import sys
import pipeline.compat.v1 as tf
with tf.Graph().as_default(), tf.Session() as sess:
    assert sess.run(tf.constant(3)) == 3
lines = {}
for name, module in sys.modules.items():
    if name.partition(".")[0] == "pipeline" and (getattr(module, "__file__", None) or "").endswith(".py"):
        with open(module.__file__, encoding="utf-8") as file:
            lines[name] = sum(1 for _ in file)
print(sum(lines.values()), sorted(lines.items(), key=lambda pair: -pair[1])[:10])
"""

OPERATORS = """
import pipeline.compat.v1 as tf
from pipeline.compat.namespace import OPERATORS
before = {name: getattr(tf.Tensor, f"__{name}__") for name in OPERATORS}
with tf.Graph().as_default(), tf.Session() as sess:
    assert sess.run(tf.convert_to_tensor(range(1, 7, 2))).tolist() == [1, 3, 5]
    assert sess.run(2 - tf.constant([5]))[0] == -3
left = [name for name, method in before.items() if getattr(tf.Tensor, f"__{name}__") is method]
assert not left, left
from pipeline.compat.ops.math.operators import attach
attached = []
attach(lambda name, function: attached.append(name.strip("_")))
assert sorted(attached) == sorted(OPERATORS)
"""


def test_a_session_and_a_constant_import_at_most_5000_lines():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=True)
    assert int(done.stdout.split()[0]) <= 5000, done.stdout


def test_operators_come_with_their_first_use():
    done = subprocess.run([sys.executable, "-c", OPERATORS], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
