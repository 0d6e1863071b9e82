"""DType and as_dtype."""

from compat_cases import table

NAMES = (
    "float16 float32 float64 bfloat16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool string "
    "complex64 complex128 qint8 quint8 qint16 quint16 qint32"
)


def properties_of_dtypes(tf):
    found = {}
    for name in NAMES.split():
        dtype = getattr(tf, name)
        found[name] = [
            dtype.name,
            dtype.size,
            dtype.is_floating,
            dtype.is_integer,
            dtype.is_unsigned,
            dtype.is_bool,
            dtype.is_complex,
            dtype.is_quantized,
            dtype.is_numpy_compatible,
            dtype.base_dtype,
            dtype.real_dtype,
            dtype.as_datatype_enum,
            str(dtype),
            repr(dtype),
        ]
    return found


def limits_of_dtypes(tf):
    names = ["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
    return {name: [float(getattr(tf, name).min), float(getattr(tf, name).max)] for name in names}


def limits_of_text(tf):
    tf.string.max  # noqa: B018


def dtypes_from_anything(tf):
    import numpy as np

    given = ["float32", "int64", np.float32, np.dtype("int16"), float, bool, object, 1, 3, tf.uint8]
    given += [
        "float",
        "double",
        "half",
        "float32_ref",
        np.dtype("S3"),
        np.dtype("U2"),
        np.bool_,
        np.complex64,
        np.object_,
    ]
    return [tf.as_dtype(thing) for thing in given]


def dtypes_compared(tf):
    import numpy as np

    return [
        tf.float32 == "float32",
        tf.float32 == np.float32,
        tf.float32 == tf.float64,
        tf.float32 != np.float64,
        tf.float32 == "no such type",
        tf.float32 == None,  # noqa: E711
        tf.float32 == 3,
        len({tf.float32, tf.as_dtype("float32")}),
        tf.float32.is_compatible_with(tf.float32),
        tf.float32.is_compatible_with("int32"),
        tf.as_dtype("float32_ref").is_compatible_with(tf.float32),
        tf.as_dtype("float32_ref") == tf.float32,
        tf.as_dtype("float32_ref").base_dtype,
        tf.half is tf.float16,
        tf.double is tf.float64,
    ]


def numpy_types_of_dtypes(tf):
    import numpy as np

    names = "float16 float32 float64 int8 int64 uint8 bool string complex64"
    return [str(np.dtype(getattr(tf, name).as_numpy_dtype)) for name in names.split()]


table(
    limits_for_images=lambda tf: [
        list(tf.uint8.limits),
        list(tf.float32.limits),
        list(tf.int16.limits),
        list(tf.uint16.limits),
    ],
    dtype_of_nonsense=lambda tf: tf.as_dtype("no such type"),
    dtype_of_int=lambda tf: tf.as_dtype(int),
    dtype_of_str=lambda tf: tf.as_dtype(str),
    dtype_of_none=lambda tf: tf.as_dtype(None),
    dtype_of_a_list=lambda tf: tf.as_dtype([1]),
)
