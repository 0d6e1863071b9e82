"""Record what TensorFlow gives for the cases: `python tests/compat/record.py [--check] [FAMILY...]`.

To be run with tensorflow-cpu 2.21. With `--check` nothing is written; the status is 1 if TensorFlow gives anything else
than what is recorded.
"""

import argparse
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"

import compat_cases
import tensorflow.compat.v1 as tf


def is_mistake(error):
    """Whether an error tells of a mistake in the case, not of TensorFlow's behaviour: it names what is not there."""
    no_such_name = isinstance(error, AttributeError) and str(error).startswith("module 'tensorflow")
    return no_such_name or isinstance(error, (NameError, ImportError, SyntaxError))


def said(text):
    """What an error says, without where its op was made: of one at run time the lines after "Node: "."""
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
    """Record a family, or compare; give whether all is well."""
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
            # To be read by whoever wrote the case: is this the error that it is about?
            print(f"{family}.{one.name}: {seen['stage']}: {seen['error']}: {said(str(error))[:300]!r}")
    if not check:
        compat_cases.write_recorded(family, recorded)
        print(f"{family}: {len(recorded)} cases, {sum('error' in seen for seen in recorded.values())} of them errors")
    return well


if __name__ == "__main__":
    sys.exit(main())
