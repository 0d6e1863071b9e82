"""Made by tests/support/compat_stub.py from pipeline/compat/names.py."""

from pipeline.compat.areas.record_input import RecordInput as RecordInput
from pipeline.compat.areas.staging import MapStagingArea as MapStagingArea, StagingArea as StagingArea
from pipeline.compat.graph.default_session import get_default_session as get_default_session
from pipeline.compat.graph.definitions import AttrValue as AttrValue, GraphDef as GraphDef, NodeDef as NodeDef
from pipeline.compat.graph.dimensions import Dimension as Dimension, dimension_value as dimension_value
from pipeline.compat.graph.dtypes import (
    DType as DType, as_dtype as as_dtype, bfloat16 as bfloat16, bool as bool, complex128 as complex128,
    complex64 as complex64, double as double, float16 as float16, float32 as float32, float64 as float64,
    half as half, int16 as int16, int32 as int32, int64 as int64, int8 as int8, qint16 as qint16, qint32 as qint32,
    qint8 as qint8, quint16 as quint16, quint8 as quint8, resource as resource, string as string, uint16 as uint16,
    uint32 as uint32, uint64 as uint64, uint8 as uint8, variant as variant,
)
from pipeline.compat.graph.graph import Graph as Graph
from pipeline.compat.graph.graph_keys import GraphKeys as GraphKeys
from pipeline.compat.graph.scopes import (
    add_to_collection as add_to_collection, add_to_collections as add_to_collections, container as container,
    control_dependencies as control_dependencies, device as device, get_collection as get_collection,
    get_collection_ref as get_collection_ref, get_default_graph as get_default_graph, name_scope as name_scope,
    op_scope as op_scope, reset_default_graph as reset_default_graph, seeds_or_none as _get_seed,
    set_random_seed as set_random_seed,
)
from pipeline.compat.graph.shapes import TensorShape as TensorShape, broadcast_static_shape as broadcast_static_shape
from pipeline.compat.graph.tensor import Operation as Operation, Tensor as Tensor
from pipeline.compat.input.readers import (
    FixedLengthRecordReader as FixedLengthRecordReader, IdentityReader as IdentityReader, LMDBReader as LMDBReader,
    ReaderBase as ReaderBase, TFRecordReader as TFRecordReader, TextLineReader as TextLineReader,
    WholeFileReader as WholeFileReader,
)
from pipeline.compat.ops.arrays.arranging import (
    reverse as reverse, reverse as _reverse_v2, reverse_sequence as reverse_sequence, tile as tile,
    transpose as transpose,
)
from pipeline.compat.ops.arrays.brackets import newaxis as newaxis
from pipeline.compat.ops.arrays.filling import (
    fill as fill, ones as ones, ones_like as ones_like, zeros as zeros, zeros_like as zeros_like,
)
from pipeline.compat.ops.arrays.gathering import gather as gather, gather_nd as gather_nd
from pipeline.compat.ops.arrays.identities import identity as identity, stop_gradient as stop_gradient
from pipeline.compat.ops.arrays.indexing import slice_ as _slice, strided_slice as strided_slice
from pipeline.compat.ops.arrays.joining import (
    concat as concat, parallel_stack as parallel_stack, split as split, stack as stack, unstack as unstack,
)
from pipeline.compat.ops.arrays.masking import (
    boolean_mask as boolean_mask, sequence_mask as sequence_mask, where as where, where_v2 as where_v2,
)
from pipeline.compat.ops.arrays.padding import pad as pad
from pipeline.compat.ops.arrays.sequences import one_hot as one_hot, range as range
from pipeline.compat.ops.arrays.shaping import (
    ensure_shape as ensure_shape, expand_dims as expand_dims, rank as rank, reshape as reshape, shape as shape,
    size as size, squeeze as squeeze,
)
from pipeline.compat.ops.arrays.sorting import dynamic_partition as dynamic_partition, unique as unique
from pipeline.compat.ops.control.asserting import Assert as Assert, check_numerics as check_numerics
from pipeline.compat.ops.control.checks import (
    assert_equal as assert_equal, assert_greater as assert_greater, assert_greater_equal as assert_greater_equal,
    assert_less as assert_less, assert_less_equal as assert_less_equal, assert_negative as assert_negative,
    assert_non_negative as assert_non_negative, assert_non_positive as assert_non_positive,
    assert_none_equal as assert_none_equal, assert_positive as assert_positive,
)
from pipeline.compat.ops.control.cond import cond as cond
from pipeline.compat.ops.control.flow import group as group, no_op as no_op, tuple as tuple
from pipeline.compat.ops.control.map_fn import map_fn as map_fn, scan as scan
from pipeline.compat.ops.control.printing import Print as Print
from pipeline.compat.ops.control.py_func import numpy_function as numpy_function, py_func as py_func
from pipeline.compat.ops.files.gfile import (
    matching_files as matching_files, read_file as read_file, write_file as write_file,
)
from pipeline.compat.ops.images.crop import random_crop as random_crop
from pipeline.compat.ops.lookup.tables import (
    initialize_all_tables as initialize_all_tables, tables_initializer as tables_initializer,
)
from pipeline.compat.ops.math.arithmetic import (
    add as add, div as div, div_no_nan as div_no_nan, divide as divide, floor_div as floor_div, floordiv as floordiv,
    floormod as floormod, floormod as _mod, maximum as maximum, minimum as minimum, multiply as multiply, pow as pow,
    realdiv as realdiv, squared_difference as squared_difference, subtract as subtract, truediv as truediv,
)
from pipeline.compat.ops.math.casting import (
    cast as cast, to_bfloat16 as to_bfloat16, to_double as to_double, to_float as to_float, to_int32 as to_int32,
    to_int64 as to_int64,
)
from pipeline.compat.ops.math.clipping import clip_by_value as clip_by_value, saturate_cast as saturate_cast
from pipeline.compat.ops.math.comparing import (
    equal as equal, greater as greater, greater_equal as greater_equal, is_finite as is_finite, is_inf as is_inf,
    is_nan as is_nan, less as less, less_equal as less_equal, logical_and as logical_and, logical_not as logical_not,
    logical_or as logical_or, logical_xor as logical_xor, not_equal as not_equal,
)
from pipeline.compat.ops.math.products import matmul as matmul
from pipeline.compat.ops.math.reducing import (
    arg_max as arg_max, arg_min as arg_min, argmax as argmax, argmin as argmin, count_nonzero as count_nonzero,
    reduce_all as reduce_all, reduce_any as reduce_any, reduce_max as reduce_max, reduce_mean as reduce_mean,
    reduce_min as reduce_min, reduce_prod as reduce_prod, reduce_sum as reduce_sum,
)
from pipeline.compat.ops.math.unary import (
    abs as abs, acos as acos, acosh as acosh, asin as asin, asinh as asinh, atan as atan, atanh as atanh,
    ceil as ceil, cos as cos, cosh as cosh, exp as exp, expm1 as expm1, floor as floor, log as log, log1p as log1p,
    negative as negative, reciprocal as reciprocal, rint as rint, round as round, rsqrt as rsqrt, sigmoid as sigmoid,
    sign as sign, sin as sin, sinh as sinh, sqrt as sqrt, square as square, tan as tan, tanh as tanh,
)
from pipeline.compat.ops.parse.decoding import decode_csv as decode_csv, decode_raw as decode_raw
from pipeline.compat.ops.parse.examples import (
    parse_example as parse_example, parse_single_example as parse_single_example,
)
from pipeline.compat.ops.parse.sequences import parse_single_sequence_example as parse_single_sequence_example
from pipeline.compat.ops.random.numbers import (
    multinomial as multinomial, random_normal as random_normal, random_uniform as random_uniform,
    truncated_normal as truncated_normal,
)
from pipeline.compat.ops.random.shuffle import random_shuffle as random_shuffle
from pipeline.compat.ops.sparse.edit_distance import edit_distance as edit_distance
from pipeline.compat.ops.sparse.form import (
    sparse_reorder as sparse_reorder, sparse_tensor_to_dense as sparse_tensor_to_dense,
    sparse_to_dense as sparse_to_dense, sparse_to_indicator as sparse_to_indicator,
)
from pipeline.compat.ops.sparse.strings import (
    deserialize_many_sparse as deserialize_many_sparse, serialize_sparse as serialize_sparse,
)
from pipeline.compat.ops.strings.elements import (
    as_string as as_string, decode_base64 as decode_base64, encode_base64 as encode_base64, strip as _string_strip,
    to_hash_bucket as _string_to_hash_bucket, to_hash_bucket_fast as _string_to_hash_bucket_fast,
    to_number as _string_to_number,
)
from pipeline.compat.ops.strings.regex import regex_replace as regex_replace
from pipeline.compat.ops.strings.splitting import join as _string_join, string_split as string_split, substr as substr
from pipeline.compat.ops.variables.collections import (
    all_variables as all_variables, global_variables as global_variables,
    global_variables_initializer as global_variables_initializer,
    initialize_all_variables as initialize_all_variables, initialize_local_variables as initialize_local_variables,
    initialize_variables as initialize_variables, is_variable_initialized as is_variable_initialized,
    local_variables as local_variables, local_variables_initializer as local_variables_initializer,
    moving_average_variables as moving_average_variables,
    report_uninitialized_variables as report_uninitialized_variables, trainable_variables as trainable_variables,
    variables_initializer as variables_initializer,
)
from pipeline.compat.ops.variables.initializers import (
    constant_initializer as constant_initializer, glorot_uniform_initializer as glorot_uniform_initializer,
    ones_initializer as ones_initializer, random_normal_initializer as random_normal_initializer,
    random_uniform_initializer as random_uniform_initializer,
    truncated_normal_initializer as truncated_normal_initializer, zeros_initializer as zeros_initializer,
)
from pipeline.compat.ops.variables.scope import (
    VariableScope as VariableScope, get_local_variable as get_local_variable, get_variable as get_variable,
    get_variable_scope as get_variable_scope, variable_scope as variable_scope,
)
from pipeline.compat.ops.variables.store import AUTO_REUSE as AUTO_REUSE
from pipeline.compat.ops.variables.updates import (
    assign as assign, assign_add as assign_add, assign_sub as assign_sub, count_up_to as count_up_to,
    scatter_add as scatter_add, scatter_sub as scatter_sub, scatter_update as scatter_update,
)
from pipeline.compat.ops.variables.variable import (
    Variable as Variable, VariableAggregation as VariableAggregation,
    VariableSynchronization as VariableSynchronization,
)
from pipeline.compat.platform.behaviour import (
    VERSION as ___version__, disable_control_flow_v2 as disable_control_flow_v2,
    disable_eager_execution as disable_eager_execution, disable_resource_variables as disable_resource_variables,
    disable_tensor_equality as disable_tensor_equality, disable_v2_behavior as disable_v2_behavior,
    disable_v2_tensorshape as disable_v2_tensorshape, executing_eagerly as executing_eagerly,
)
from pipeline.compat.platform.tf_logging import get_logger as get_logger
from pipeline.compat.queues.queues import (
    FIFOQueue as FIFOQueue, PaddingFIFOQueue as PaddingFIFOQueue, PriorityQueue as PriorityQueue,
    QueueBase as QueueBase, RandomShuffleQueue as RandomShuffleQueue,
)
from pipeline.compat.session.session import InteractiveSession as InteractiveSession, Session as Session
from pipeline.compat.session.settings import (
    ConfigProto as ConfigProto, GPUOptions as GPUOptions, GraphOptions as GraphOptions,
    OptimizerOptions as OptimizerOptions, RunMetadata as RunMetadata, RunOptions as RunOptions,
)
from pipeline.compat.v1 import (
    app as app, audio as audio, bitwise as bitwise, compat as compat, contrib as contrib, debugging as debugging,
    dtypes as dtypes, errors as errors, flags as flags, gfile as gfile, image as image, initializers as initializers,
    io as io, linalg as linalg, logging as logging, lookup as lookup, manip as manip, math as math, nn as nn,
    python_io as python_io, queue as queue, random as random, sparse as sparse, strings as strings,
    summary as summary, train as train, version as version,
)
from pipeline.compat.values.constants import constant as constant
from pipeline.compat.values.convert import (
    convert_to_tensor as convert_to_tensor, register_tensor_conversion_function as register_tensor_conversion_function,
)
from pipeline.compat.values.placeholders import (
    placeholder as placeholder, placeholder_with_default as placeholder_with_default,
)
from pipeline.compat.values.sparse_tensor import (
    IndexedSlices as IndexedSlices, IndexedSlicesValue as IndexedSlicesValue, SparseTensor as SparseTensor,
)
from pipeline.compat.values.static import get_static_value as get_static_value
from pipeline.decode.example.features import (
    FixedLenFeature as FixedLenFeature, FixedLenSequenceFeature as FixedLenSequenceFeature,
    VarLenFeature as VarLenFeature,
)
from pipeline.decode.example.sparse_value import SparseTensorValue as SparseTensorValue
from pipeline.errors import OpError as OpError
from pipeline.proto.summary import (
    Event as Event, HistogramProto as HistogramProto, SessionLog as SessionLog, Summary as Summary,
    SummaryMetadata as SummaryMetadata,
)
from pipeline.proto.tensor import TensorShapeProto as TensorShapeProto
__version__ = ___version__
get_seed = _get_seed
mod = _mod
reverse_v2 = _reverse_v2
slice = _slice
string_join = _string_join
string_strip = _string_strip
string_to_hash_bucket = _string_to_hash_bucket
string_to_hash_bucket_fast = _string_to_hash_bucket_fast
string_to_number = _string_to_number
