"""The classes in tf.errors, their codes, and an error's attributes."""

from compat_cases import table


def errors_know_their_operation(tf, sess):
    x = tf.placeholder(tf.int32, [None], name="x")
    y = tf.reshape(x, [2, 2], name="shaped")
    try:
        sess.run(y, {x: [1, 2, 3]})
    except tf.errors.InvalidArgumentError as error:
        return [
            error.op is y.op,
            error.node_def.name,
            error.node_def.op,
            error.error_code,
            isinstance(error.message, str),
            isinstance(error, tf.errors.OpError),
            error.op.name in str(error),
            "Input to reshape is a tensor with 3 values" in error.message,
        ]


def errors_by_code(tf):
    made = {}
    for name in dir(tf.errors):
        cls = getattr(tf.errors, name)
        if not isinstance(cls, type) or not issubclass(cls, tf.errors.OpError) or cls is tf.errors.OpError:
            continue
        error = cls(None, None, "text")
        code = error.error_code
        made[name] = [code, error.message, str(error), tf.errors.exception_type_from_error_code(code) is cls]
    return made


def codes_of_errors(tf):
    names = (
        "OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED "
        "UNAUTHENTICATED RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL "
        "UNAVAILABLE DATA_LOSS"
    )
    return [getattr(tf.errors, name) for name in names.split()]


table(
    errors_with_codes=lambda tf: [
        tf.errors.error_code_from_exception_type(tf.errors.CancelledError),
        tf.errors.exception_type_from_error_code(11).__name__,
    ],
)
