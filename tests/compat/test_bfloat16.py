"""bfloat16 needs a package; the rest of the drop-in works without it."""

from helpers import run_script

import pipeline.compat.v1 as tf

WITHOUT = "import sys; sys.modules['ml_dtypes'] = None; import pipeline.compat.v1 as tf\n"


def lines(script):
    done = run_script(WITHOUT + script)
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_it_is_listed_where_the_package_is():
    assert "bfloat16" in dir(tf)
    assert "bfloat16" in tf.__all__
    assert tf.bfloat16.name == "bfloat16"


def test_star_imports_everything_else():
    star = "names = {}; exec('from pipeline.compat.v1 import *', names)\n"
    assert lines(star + "print('float16' in names, 'bfloat16' in names, 'bfloat16' in dir(tf))") == ["True False False"]


def test_it_is_not_there_but_says_why():
    assert lines("print(hasattr(tf, 'bfloat16'), hasattr(tf.dtypes, 'bfloat16'))") == ["False False"]
    [text] = lines("try: tf.bfloat16\nexcept AttributeError as error: print(error)")
    assert text == "bfloat16 needs ml_dtypes: pip install ml_dtypes"
