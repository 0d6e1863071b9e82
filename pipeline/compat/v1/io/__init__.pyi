"""Made by tests/support/compat_stub.py from pipeline/compat/names.py."""

from pipeline.compat.input.producers import match_filenames_once as match_filenames_once
from pipeline.compat.ops.files.gfile import (
    matching_files as matching_files, read_file as read_file, write_file as write_file,
)
from pipeline.compat.ops.files.record_writer import TFRecordWriter as TFRecordWriter
from pipeline.compat.ops.images.decode import (
    decode_and_crop_jpeg as decode_and_crop_jpeg, decode_bmp as decode_bmp, decode_gif as decode_gif,
    decode_image as decode_image, decode_jpeg as decode_jpeg, decode_png as decode_png, encode_jpeg as encode_jpeg,
    encode_png as encode_png, extract_jpeg_shape as extract_jpeg_shape, is_jpeg as is_jpeg,
)
from pipeline.compat.ops.parse.decoding import decode_csv as decode_csv, decode_raw as decode_raw
from pipeline.compat.ops.parse.examples import (
    parse_example as parse_example, parse_single_example as parse_single_example,
)
from pipeline.compat.ops.parse.sequences import parse_single_sequence_example as parse_single_sequence_example
from pipeline.compat.ops.sparse.strings import (
    deserialize_many_sparse as deserialize_many_sparse, serialize_sparse as serialize_sparse,
)
from pipeline.compat.ops.strings.elements import decode_base64 as decode_base64, encode_base64 as encode_base64
from pipeline.compat.queues.queues import (
    PaddingFIFOQueue as PaddingFIFOQueue, PriorityQueue as PriorityQueue, QueueBase as QueueBase,
    RandomShuffleQueue as RandomShuffleQueue,
)
from pipeline.compat.v1.io import gfile as gfile
from pipeline.decode.example.features import (
    FixedLenFeature as FixedLenFeature, FixedLenSequenceFeature as FixedLenSequenceFeature,
    VarLenFeature as VarLenFeature,
)
from pipeline.files.tfrecord import (
    TFRecordCompressionType as TFRecordCompressionType, TFRecordOptions as TFRecordOptions,
)
from pipeline.files.tfrecord_cutter import tf_record_iterator as tf_record_iterator
