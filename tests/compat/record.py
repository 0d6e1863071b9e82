"""Record TensorFlow's results for the cases: `python tests/compat/record.py [--check] [FAMILY...]`.

Run it with tensorflow-cpu 2.21. With `--check` nothing is written; the status is 1 if TensorFlow's results differ from
the recordings.
"""

import argparse
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"

import compat_cases
import tensorflow.compat.v1 as tf


def is_mistake(error):
    """Return whether an error is a mistake in the case, not TensorFlow's behaviour: it names a missing thing."""
    no_such_name = isinstance(error, AttributeError) and str(error).startswith("module 'tensorflow")
    return no_such_name or isinstance(error, (NameError, ImportError, SyntaxError))


def said(text):
    """Return an error's message, without its op's origin: for a run-time error the lines after "Node: "."""
    return text.partition("\nNode: ")[2].partition("\n")[2].partition("\n\t [[")[0] or text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("families", nargs="*", metavar="FAMILY", help="all of them if none is given")
    parser.add_argument("--check", action="store_true", help="compare with what is recorded instead of writing it")
    arguments = parser.parse_args()
    tf.logging.set_verbosity(tf.logging.ERROR)
    tf.disable_v2_behavior()
    wrong = [family for family in arguments.families or compat_cases.families() if not record(family, arguments.check)]
    return 1 if wrong else 0


def record(family: str, check: bool) -> bool:
    """Record a family, or compare; return whether all is well."""
    well = True
    recorded = {}
    before = compat_cases.read_recorded(family)
    for one in compat_cases.cases(family).values():
        seen, error = compat_cases.observe(tf, one)
        recorded[one.name] = seen
        wrong = compat_cases.message_differs(one, error)
        if is_mistake(error):
            wrong = f"{type(error).__name__}: {error}"
            del recorded[one.name]
        if check and not wrong:
            wrong = "\n".join(compat_cases.differences(one, before.get(one.name, {"error": "not recorded"}), seen))
        if wrong:
            print(f"{family}.{one.name}: {wrong}", file=sys.stderr)
            well = False
        elif error is not None and not check:
            # For the case's author: is this the intended error?
            print(f"{family}.{one.name}: {seen['stage']}: {seen['error']}: {said(str(error))[:300]!r}")
    if not check:
        compat_cases.write_recorded(family, recorded)
        print(f"{family}: {len(recorded)} cases, {sum('error' in seen for seen in recorded.values())} of them errors")
    return well


if __name__ == "__main__":
    sys.exit(main())
