"""Flags, logging levels, strings and switches."""

from compat_cases import table


def _defined(tf):
    values = tf.flags.FlagValues()
    tf.flags.DEFINE_string("path", "/data", "where", flag_values=values)
    tf.flags.DEFINE_integer("count", 3, "how many", lower_bound=0, flag_values=values)
    tf.flags.DEFINE_float("rate", 0.5, "how fast", flag_values=values)
    tf.flags.DEFINE_boolean("loud", False, "whether", flag_values=values)
    tf.flags.DEFINE_enum("mode", "train", ["train", "eval"], "what", flag_values=values)
    tf.flags.DEFINE_list("names", "a,b", "who", flag_values=values)
    tf.flags.DEFINE_multi_integer("sizes", [1], "how large", flag_values=values)
    return values


def parsed(tf, *args, **options):
    values = _defined(tf)
    rest = values(["program", *args], **options)
    return [rest, {name: values[name].value for name in sorted(values)}]


def refused(tf, *args):
    try:
        parsed(tf, *args)
    except (tf.flags.Error, ValueError) as error:
        return type(error).__name__
    return "accepted"


def what_is_refused(tf):
    tries = [["--other"], ["--count=x"], ["--count=-1"], ["--count=1.5"], ["--rate=fast"], ["--mode=test"]]
    tries += [
        ["--loud=perhaps"],
        ["--noloud=true"],
        ["--path"],
        ["--nopath"],
        ["--sizes=a"],
        ["--undefok=zz", "--zz=1"],
    ]
    return [refused(tf, *each) for each in tries]


def defined_twice(tf):
    values = _defined(tf)
    try:
        tf.flags.DEFINE_string("path", "", "", flag_values=values)
    except tf.flags.DuplicateFlagError:
        return True


def wrong_defaults(tf):
    values, seen = tf.flags.FlagValues(), []
    for define, default in (
        (tf.flags.DEFINE_integer, "x"),
        (tf.flags.DEFINE_boolean, "x"),
        (tf.flags.DEFINE_integer, 1.5),
    ):
        try:
            define("a", default, "", flag_values=values)
        except tf.flags.IllegalFlagValueError:
            seen.append("refused")
    tf.flags.DEFINE_integer("b", "12", "", flag_values=values)
    tf.flags.DEFINE_float("c", 1, "", flag_values=values)
    tf.flags.DEFINE_string("d", None, "", flag_values=values)
    values.mark_as_parsed()
    return [*seen, values.b, values.c, values.d]


def set_by_the_program(tf):
    values = _defined(tf)
    values(["program"])
    values.count = 9
    values.set_default("path", "/else")
    return [values.count, values.path, "count" in values, "other" in values, values["count"].default]


def required(tf):
    values, seen = tf.flags.FlagValues(), []
    tf.flags.DEFINE_string("path", None, "", flag_values=values)
    tf.flags.mark_flag_as_required("path", flag_values=values)
    for argv in (["p"], ["p", "--path=x"]):
        try:
            seen.append(values(argv))
        except tf.flags.IllegalFlagValueError:
            seen.append("refused")
    return seen


def validated(tf):
    values, seen = tf.flags.FlagValues(), []
    tf.flags.DEFINE_integer("even", 2, "", flag_values=values)
    tf.flags.register_validator("even", lambda value: value % 2 == 0, "must be even", flag_values=values)
    for argv in (["p", "--even=3"], ["p", "--even=4"]):
        try:
            seen.append(values(argv))
        except tf.flags.IllegalFlagValueError as error:
            seen.append("must be even" in str(error))
    return seen


def holders(tf):
    values = tf.flags.FlagValues()
    holder = tf.flags.DEFINE_integer("n", 5, "", flag_values=values)
    values(["p", "--n=6"])
    return [holder.name, holder.value, holder.default, bool(holder.present)]


def old_argument_names(tf):
    values = tf.flags.FlagValues()
    tf.flags.DEFINE_string(flag_name="a", default_value="x", docstring="what", flag_values=values)
    values(["p"])
    return [values.a, values["a"].help]


def unparsed_again(tf):
    values = _defined(tf)
    values(["p", "--count=8"])
    values.unparse_flags()
    values(["p"])
    return [values.count, values["count"].present]


def as_a_file(tf):
    values = tf.flags.FlagValues()
    tf.flags.DEFINE_integer("n", 5, "", flag_values=values)
    tf.flags.DEFINE_boolean("b", True, "", flag_values=values)
    values(["p", "--nob"])
    return sorted(values.flags_into_string().split())


def logging_levels(tf):
    before = tf.logging.get_verbosity()
    tf.logging.set_verbosity(tf.logging.INFO)
    after = tf.logging.get_verbosity()
    tf.logging.set_verbosity(before)
    return [tf.logging.DEBUG, tf.logging.INFO, tf.logging.WARN, tf.logging.ERROR, tf.logging.FATAL, after]


def logged_on_condition(tf):
    import logging

    class Kept(logging.Handler):
        def emit(self, record):
            texts.append(record.getMessage())

    texts, logger = [], logging.getLogger("tensorflow")
    handler, before = Kept(), logger.level
    logger.addHandler(handler)
    try:
        for i in range(5):
            tf.logging.log_if(tf.logging.ERROR, "if %d", i > 2, i)
            tf.logging.vlog(tf.logging.ERROR, "vlog %d", i)
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)
    return texts


def strings(tf):
    names = tf.compat
    return [
        names.as_bytes("ä"),
        names.as_bytes(b"x"),
        names.as_text(b"\xc3\xa4"),
        names.as_str("x"),
        names.as_str_any(5),
        names.as_str_any(b"x"),
    ]


def switches(tf):
    tf.disable_v2_behavior()
    tf.disable_eager_execution()
    return [tf.executing_eagerly(), tf.compat.v1.executing_eagerly()]


table(
    defaults=lambda tf: parsed(tf),
    with_equals_signs=lambda tf: parsed(
        tf, "--path=x=y", "--count=0x10", "--rate=1e-3", "--loud=true", "--mode=eval", "--names=c, d,e"
    ),
    in_two_arguments=lambda tf: parsed(tf, "--path", "x", "-count", "7", "--rate", "2", "--loud", "--names", ""),
    negated=lambda tf: parsed(tf, "--loud", "--noloud"),
    several_times=lambda tf: parsed(tf, "--sizes=4", "--sizes", "5", "--count=1", "--count=2"),
    arguments_end_the_flags=lambda tf: parsed(tf, "--count=1", "file", "--count=2"),
    two_dashes_end_the_flags=lambda tf: parsed(tf, "--count=1", "--", "--count=2"),
    unknown_ones_are_kept_if_asked=lambda tf: parsed(tf, "--other=1", "--count=4", "-x", "file", known_only=True),
    app_flags_are_flags=lambda tf: [
        tf.app.flags.FLAGS is tf.flags.FLAGS,
        tf.app.flags.DEFINE_string is tf.flags.DEFINE_string,
    ],
    bytes_of_a_number=lambda tf: tf.compat.as_bytes(5),
    text_of_a_number=lambda tf: tf.compat.as_text(5),
)
