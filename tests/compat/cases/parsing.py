"""decode_raw, decode_csv, decode_compressed, serialize_tensor, parse_tensor."""

import numpy as np
from compat_cases import table

table(
    decode_raw_0=lambda tf: tf.decode_raw("abcd", tf.uint8),
    decode_raw_1=lambda tf: tf.decode_raw("abcd", tf.int16),
    decode_raw_2=lambda tf: tf.decode_raw("abcd", tf.int16, little_endian=False),
    decode_raw_3=lambda tf: tf.decode_raw("abc", tf.int16),
    decode_raw_4=lambda tf: tf.decode_raw(["ab", "cd"], tf.uint8),
    decode_raw_5=lambda tf: tf.decode_raw(["ab", "c"], tf.uint8),
    decode_raw_6=lambda tf: tf.decode_raw("", tf.int32),
    decode_raw_7=lambda tf: tf.decode_raw([""], tf.int32),
    decode_raw_8=lambda tf: tf.decode_raw("abcd", tf.float16),
    decode_raw_9=lambda tf: tf.decode_raw("abcd", tf.bfloat16),
    decode_raw_10=lambda tf: tf.decode_raw("abcd", tf.string),
    decode_raw_11=lambda tf: tf.decode_raw("abcd", tf.uint32),
    decode_raw_12=lambda tf: tf.decode_raw("abcdefgh", tf.complex64),
    decode_raw_13=lambda tf: tf.decode_raw("abcd", tf.uint16),
    decode_raw_14=lambda tf: tf.decode_raw([["ab"], ["cd"]], tf.int8),
    decode_raw_15=lambda tf: tf.decode_raw(5, tf.uint8),
    decode_raw_16=lambda tf: tf.decode_raw(np.zeros([0], object), tf.uint8),
    decode_raw_17=lambda tf: tf.decode_raw("abcdefgh", tf.float64, name="r"),
    decode_raw_18=lambda tf: tf.decode_raw("abcdefgh", tf.int64, little_endian=False),
    decode_raw_19=lambda tf: tf.decode_raw(b"\x00\x01", tf.bool),
    decode_raw_20=lambda tf: tf.decode_raw(tf.placeholder_with_default(["ab", "cd"], None), tf.uint8),
    decode_raw_21=lambda tf: tf.decode_raw("abcd", tf.float32, False, "n"),
    decode_raw_bytes=lambda tf: tf.io.decode_raw(bytes="abc", out_type=tf.uint8),
    decode_raw_both=lambda tf: tf.decode_raw("a", tf.uint8, bytes="abc"),
    decode_raw_no_type=lambda tf: tf.decode_raw("a"),
    decode_raw_nothing=lambda tf: tf.decode_raw(),
    decode_raw_dtype_by_name=lambda tf: tf.decode_raw("abc", "uint8"),
    decode_csv_0=lambda tf: tf.decode_csv("1,2", [[1], [2]]),
    decode_csv_3=lambda tf: tf.decode_csv(",2", [[7], [2]]),
    decode_csv_4=lambda tf: tf.decode_csv(",2", [[], [2]]),
    decode_csv_5=lambda tf: tf.decode_csv("1.5,x", [[0.0], [""]]),
    decode_csv_6=lambda tf: tf.decode_csv("1.5,x", [[0], [""]]),
    decode_csv_7=lambda tf: tf.decode_csv("x,1", [[0.0], [""]]),
    decode_csv_8=lambda tf: tf.decode_csv("1;2", [[1], [2]], field_delim=";"),
    decode_csv_9=lambda tf: tf.decode_csv('"1","a,""b"', [[1], [""]]),
    decode_csv_10=lambda tf: tf.decode_csv('"a', [[""]]),
    decode_csv_11=lambda tf: tf.decode_csv('a"b', [[""]]),
    decode_csv_12=lambda tf: tf.decode_csv('"a"b', [[""]]),
    decode_csv_13=lambda tf: tf.decode_csv('a"b', [[""]], use_quote_delim=False),
    decode_csv_14=lambda tf: tf.decode_csv("NA,2", [[7], [2]], na_value="NA"),
    decode_csv_15=lambda tf: tf.decode_csv("1,2,3", [[1]], select_cols=[1]),
    decode_csv_16=lambda tf: tf.decode_csv("1,2,3", [[1], [1]], select_cols=[1]),
    decode_csv_17=lambda tf: tf.decode_csv("1,2,3", [[1], [1]], select_cols=[2, 1]),
    decode_csv_18=lambda tf: tf.decode_csv("1,2,3", [[1], [1]], select_cols=[1, 7]),
    decode_csv_19=lambda tf: tf.decode_csv("1,2,3", [[1], [1]], select_cols=[-1, 1]),
    decode_csv_20=lambda tf: tf.decode_csv(["1,2", "3,4"], [[1], [""]]),
    decode_csv_21=lambda tf: tf.decode_csv(["1,2", "3"], [[1], [""]]),
    decode_csv_22=lambda tf: tf.decode_csv([["1"], ["2"]], [[1]]),
    decode_csv_23=lambda tf: tf.decode_csv("1", [[1, 2]]),
    decode_csv_24=lambda tf: tf.decode_csv("1", [[[1]]]),
    decode_csv_25=lambda tf: tf.decode_csv("1", [1]),
    decode_csv_26=lambda tf: tf.decode_csv("1", []),
    decode_csv_27=lambda tf: tf.decode_csv("1", [[1]], field_delim=""),
    decode_csv_28=lambda tf: tf.decode_csv("1", [[1]], field_delim=";;"),
    decode_csv_29=lambda tf: tf.decode_csv("1", 5),
    decode_csv_30=lambda tf: tf.decode_csv("1", [np.int64(3)]),
    decode_csv_31=lambda tf: tf.decode_csv("1", [np.float64(3)]),
    decode_csv_32=lambda tf: tf.decode_csv("1", [np.int8(3)]),
    decode_csv_33=lambda tf: tf.decode_csv("1", [True]),
    decode_csv_34=lambda tf: tf.decode_csv("", [[1]]),
    decode_csv_35=lambda tf: tf.decode_csv(np.zeros([0], object), [[1]]),
    decode_csv_36=lambda tf: tf.decode_csv("a\r\n,b", [[""], [""]]),
    decode_csv_37=lambda tf: tf.decode_csv("1 , 2", [[1], [2.0]]),
    decode_csv_38=lambda tf: tf.decode_csv(5, [[1]]),
    decode_csv_39=lambda tf: tf.decode_csv("3000000000", [[1]]),
    decode_csv_40=lambda tf: tf.decode_csv("1,", [[1], ["x"]]),
    decode_csv_41=lambda tf: tf.decode_csv("1", [tf.constant([], tf.float32)]),
    decode_csv_42=lambda tf: tf.decode_csv("1,2,3", [[1], [1]], select_cols=[]),
    decode_csv_43=lambda tf: tf.decode_csv('"",1', [["d"], [1]]),
    decode_csv_44=lambda tf: tf.decode_csv("1", [[1]], field_delim=None),
    decode_csv_45=lambda tf: tf.decode_csv("0x10,1e2", [[1.0], [1.0]]),
    decode_csv_46=lambda tf: tf.decode_csv("0x10", [[1]]),
    decode_csv_47=lambda tf: tf.decode_csv("+1", [[1]]),
    decode_csv_48=lambda tf: tf.decode_csv("+1.5", [[1.0]]),
    decode_csv_49=lambda tf: tf.decode_csv("1f", [[1.0]]),
    decode_csv_50=lambda tf: tf.decode_csv("nan,inf", [[1.0], [1.0]]),
    decode_csv_51=lambda tf: tf.decode_csv("1_0", [[1.0]]),
    decode_csv_52=lambda tf: tf.decode_csv(tf.placeholder_with_default(["1", "2"], None), [[1]]),
    decode_csv_53=lambda tf: tf.decode_csv("1", [tf.placeholder_with_default([[1]], None)]),
    decode_csv_54=lambda tf: tf.decode_csv("1", [tf.placeholder_with_default([1, 2], None)]),
    decode_csv_55=lambda tf: tf.decode_csv(
        ["1,a", "2,b"], [tf.constant([1], tf.int64), tf.constant(["x"])], name="csv"
    ),
    decode_csv_56=lambda tf: tf.decode_csv("1,2", [tf.float32, tf.string]),
    decode_csv_57=lambda tf: tf.decode_csv("a\tb", [["x"], ["y"]], "\t"),
    decode_csv_58=lambda tf: tf.decode_csv(
        "1,2,3", [tf.constant([], tf.int32), tf.constant([0.0])], ",", True, "n", "", [0, 2]
    ),
    decode_csv_59=lambda tf: tf.decode_csv("5.1,3.5,setosa", [[0.0], [0.0], ["unknown"]]),
    decode_csv_60=lambda tf: tf.decode_csv(["1,2", "+3,0x4"], [[1], [1.0]]),
    serialize_tensor_0=lambda tf: tf.serialize_tensor(1),
    serialize_tensor_1=lambda tf: tf.serialize_tensor(1.5),
    serialize_tensor_2=lambda tf: tf.serialize_tensor([1, 2]),
    serialize_tensor_3=lambda tf: tf.serialize_tensor(["a", "bc"]),
    serialize_tensor_4=lambda tf: tf.serialize_tensor([[True]]),
    serialize_tensor_5=lambda tf: tf.serialize_tensor(np.zeros([0, 2], np.int64)),
    serialize_tensor_6=lambda tf: tf.serialize_tensor(""),
    serialize_tensor_7=lambda tf: tf.serialize_tensor(1 + 2j),
    serialize_tensor_8=lambda tf: tf.serialize_tensor(np.float16(1)),
    parse_tensor_type=lambda tf: tf.parse_tensor(tf.serialize_tensor([[1, 2]]), tf.float32),
    parse_tensor_bad=lambda tf: tf.io.parse_tensor("abc", tf.float32),
    parse_tensor_vector=lambda tf: tf.parse_tensor(["abc"], tf.float32),
    parse_tensor_fields=lambda tf: tf.parse_tensor(b"\x08\x03\x12\x04\x12\x02\x08\x03:\x01\x07", tf.int32),
    parse_tensor_empty=lambda tf: tf.parse_tensor("", tf.int32),
)


table(
    decode_csv_1=(lambda tf: tf.decode_csv("1,2,3", [[1], [2]]), "Expect 2 fields but have [13] in record"),
    decode_csv_2=(lambda tf: tf.decode_csv("1", [[1], [2]]), "Expect 2 fields but have [13] in record"),
)


def _round_trip(make):
    """A case of a tensor that is serialized and parsed again."""

    def one(tf):
        tensor = make(tf)
        return tf.parse_tensor(tf.io.serialize_tensor(tensor, name="s"), tensor.dtype)

    return one


table(
    parse_serialized_0=_round_trip(lambda tf: tf.constant(1)),
    parse_serialized_1=_round_trip(lambda tf: tf.constant(1.5)),
    parse_serialized_2=_round_trip(lambda tf: tf.constant([1, 2])),
    parse_serialized_3=_round_trip(lambda tf: tf.constant(["a", "bc"])),
    parse_serialized_4=_round_trip(lambda tf: tf.constant([[True]])),
    parse_serialized_5=_round_trip(lambda tf: tf.constant(np.zeros([0, 2], np.int64))),
    parse_serialized_6=_round_trip(lambda tf: tf.constant("")),
    parse_serialized_7=_round_trip(lambda tf: tf.constant(1 + 2j)),
    parse_serialized_8=_round_trip(lambda tf: tf.constant(np.float16(1))),
)
