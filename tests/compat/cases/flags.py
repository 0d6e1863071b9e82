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


def old_argument_names(tf):
    values = tf.flags.FlagValues()
    tf.flags.DEFINE_string(flag_name="a", default_value="x", docstring="what", flag_values=values)
    values(["p"])
    return [values.a, values["a"].help]


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
    arguments_end_the_flags=lambda tf: parsed(tf, "--count=1", "file", "--count=2"),
    unknown_ones_are_kept_if_asked=lambda tf: parsed(tf, "--other=1", "--count=4", "-x", "file", known_only=True),
    app_flags_are_flags=lambda tf: [
        tf.app.flags.FLAGS is tf.flags.FLAGS,
        tf.app.flags.DEFINE_string is tf.flags.DEFINE_string,
    ],
    bytes_of_a_number=lambda tf: tf.compat.as_bytes(5),
    text_of_a_number=lambda tf: tf.compat.as_text(5),
    strings=lambda tf: [
        tf.compat.as_bytes("ä"),
        tf.compat.as_bytes(b"x"),
        tf.compat.as_text(b"\xc3\xa4"),
        tf.compat.as_str("x"),
        tf.compat.as_str_any(5),
        tf.compat.as_str_any(b"x"),
    ],
)
