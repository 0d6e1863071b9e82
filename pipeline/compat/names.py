"""The drop-in's name table: maps each name to its module in `pipeline.compat`.

A value lists public dotted names. A name's last part, or the text after `=`, is the attribute in the module. A module
name beginning with a dot is native: it is in `pipeline`.
"""

from __future__ import annotations


def _dtypes(names: str) -> str:
    """Return each name twice: bare, and in tf.dtypes."""
    return " ".join(f"{name} dtypes.{name}" for name in names.split()) + " "


def _debugging(names: str) -> str:
    """Return each name, and the same in tf.debugging."""
    return " ".join(f"{name} debugging.{name}" for name in names.split()) + " "


def _within(spaces: str, names: str) -> str:
    """Return each name in each namespace."""
    return " ".join(f"{space}.{name}" for space in spaces.split() for name in names.split()) + " "


def _image(names: str, *others: str) -> str:
    """Return each name in tf.image and in other namespaces."""
    return " ".join(f"{space}.{name}" for name in names.split() for space in ("image", *others)) + " "


MODULES: dict[str, str] = {
    ".decode.example.sparse_value": "SparseTensorValue",
    ".decode.example.features": "FixedLenFeature io.FixedLenFeature FixedLenSequenceFeature "
    "io.FixedLenSequenceFeature VarLenFeature io.VarLenFeature",
    ".errors": "OpError errors.OK errors.CANCELLED errors.UNKNOWN errors.INVALID_ARGUMENT errors.DEADLINE_EXCEEDED "
    "errors.NOT_FOUND errors.ALREADY_EXISTS errors.PERMISSION_DENIED errors.RESOURCE_EXHAUSTED "
    "errors.FAILED_PRECONDITION errors.ABORTED errors.OUT_OF_RANGE errors.UNIMPLEMENTED errors.INTERNAL "
    "errors.UNAVAILABLE errors.DATA_LOSS errors.UNAUTHENTICATED errors.CancelledError errors.UnknownError "
    "errors.InvalidArgumentError errors.DeadlineExceededError errors.NotFoundError errors.AlreadyExistsError "
    "errors.PermissionDeniedError errors.ResourceExhaustedError errors.FailedPreconditionError errors.AbortedError "
    "errors.OutOfRangeError errors.UnimplementedError errors.InternalError errors.UnavailableError "
    "errors.DataLossError errors.UnauthenticatedError errors.OpError errors.exception_type_from_error_code "
    "errors.error_code_from_exception_type",
    ".files.event_file": "train.summary_iterator",
    ".files.tfrecord": "python_io.TFRecordOptions io.TFRecordOptions python_io.TFRecordCompressionType "
    "io.TFRecordCompressionType",
    ".files.tfrecord_cutter": "python_io.tf_record_iterator io.tf_record_iterator",
    ".proto.summary": "Summary summary.Summary Event summary.Event SessionLog summary.SessionLog "
    "SummaryMetadata HistogramProto summary.SummaryDescription summary.TaggedRunMetadata",
    ".proto.tensor": "TensorShapeProto",
    ".proto.example": "train.Example train.Features train.Feature train.Int64List train.BytesList train.FloatList "
    "train.FeatureList train.FeatureLists train.SequenceExample",
    ".runners.coordinator": "train.Coordinator",
    ".runners.looper": "train.LooperThread",
    "graph.default_session": "get_default_session",
    "graph.definitions": "NodeDef GraphDef AttrValue",
    "graph.device_names": "train.replica_device_setter",
    "graph.dimensions": "Dimension dimension_value compat.dimension_value",
    "graph.dtypes": _dtypes(
        "float16 half bfloat16 float32 float64 double int8 int16 int32 int64 uint8 uint16 uint32 uint64"
    )
    + _dtypes("bool string complex64 complex128 qint8 quint8 qint16 quint16 qint32 resource variant DType as_dtype"),
    "graph.graph": "Graph",
    "graph.graph_keys": "GraphKeys",
    "graph.scopes": "get_default_graph reset_default_graph name_scope op_scope control_dependencies device container "
    "add_to_collection add_to_collections get_collection get_collection_ref set_random_seed random.set_random_seed "
    "get_seed=seeds_or_none random.get_seed=seeds_or_none",
    "graph.shapes": "broadcast_static_shape TensorShape",
    "graph.tensor": "Operation Tensor",
    "values.constants": "constant",
    "values.convert": "convert_to_tensor register_tensor_conversion_function",
    "values.placeholders": "placeholder placeholder_with_default",
    "values.sparse_tensor": "IndexedSlices IndexedSlicesValue SparseTensor sparse.SparseTensor",
    "values.static": "get_static_value",
    "session.session": "Session InteractiveSession",
    "session.settings": "ConfigProto GPUOptions GraphOptions OptimizerOptions RunOptions RunMetadata",
    "ops.arrays.arranging": "transpose reverse manip.reverse reverse_v2=reverse reverse_sequence tile manip.tile",
    "ops.arrays.brackets": "newaxis",
    "ops.arrays.filling": "fill zeros ones zeros_like ones_like",
    "ops.arrays.gathering": "gather gather_nd manip.gather_nd",
    "ops.arrays.identities": "identity stop_gradient",
    "ops.arrays.indexing": "slice=slice_ strided_slice",
    "ops.arrays.joining": "concat split stack parallel_stack unstack",
    "ops.arrays.masking": "where where_v2 boolean_mask sequence_mask",
    "ops.arrays.padding": "pad",
    "ops.arrays.sequences": "range one_hot",
    "ops.arrays.shaping": "reshape manip.reshape shape size rank expand_dims squeeze ensure_shape",
    "ops.arrays.sorting": "nn.top_k math.top_k unique dynamic_partition",
    "ops.control.asserting": "Assert debugging.Assert check_numerics debugging.check_numerics",
    "ops.control.checks": _debugging(
        "assert_less assert_less_equal assert_greater assert_greater_equal assert_none_equal "
        "assert_equal assert_negative assert_positive assert_non_negative assert_non_positive"
    ),
    "ops.control.cond": "cond",
    "ops.control.flow": "no_op group tuple",
    "ops.control.map_fn": "map_fn scan",
    "ops.control.printing": "Print",
    "ops.control.py_func": "py_func numpy_function",
    "ops.files.gfile": "read_file io.read_file write_file io.write_file matching_files io.matching_files gfile.GFile "
    "gfile.FastGFile gfile.Open=GFile io.gfile.GFile",
    "ops.files.paths": "gfile.Copy gfile.DeleteRecursively gfile.Exists gfile.Glob gfile.IsDirectory "
    "gfile.ListDirectory gfile.MakeDirs gfile.MkDir gfile.Remove gfile.Rename gfile.Stat gfile.Walk io.gfile.copy "
    "io.gfile.exists io.gfile.glob io.gfile.isdir io.gfile.join io.gfile.listdir io.gfile.makedirs io.gfile.mkdir "
    "io.gfile.remove io.gfile.rename io.gfile.rmtree io.gfile.stat=stat_ io.gfile.walk",
    "ops.images.adjust": _image(
        "per_image_standardization adjust_brightness adjust_contrast adjust_gamma adjust_hue adjust_saturation "
        "random_brightness random_contrast random_hue random_saturation"
    ),
    "ops.images.boxes": _image("draw_bounding_boxes sample_distorted_bounding_box"),
    "ops.images.colour": _image("convert_image_dtype rgb_to_grayscale grayscale_to_rgb rgb_to_hsv hsv_to_rgb"),
    "ops.images.crop": _image(
        "central_crop pad_to_bounding_box crop_to_bounding_box resize_image_with_crop_or_pad "
        "resize_with_crop_or_pad=resize_image_with_crop_or_pad random_crop"
    )
    + "random_crop",
    "ops.images.decode": _image(
        "decode_jpeg decode_png decode_gif decode_bmp decode_image decode_and_crop_jpeg extract_jpeg_shape is_jpeg "
        "encode_jpeg encode_png",
        "io",
    ),
    "ops.images.flip": _image(
        "flip_left_right flip_up_down random_flip_left_right random_flip_up_down rot90 transpose "
        "transpose_image=transpose"
    ),
    "ops.images.resize": _image(
        "ResizeMethod resize_images resize=resize_images resize_bilinear resize_nearest_neighbor resize_bicubic "
        "resize_area"
    ),
    "ops.lookup.ids": "contrib.lookup.index_table_from_file contrib.lookup.index_table_from_tensor",
    "ops.lookup.tables": _within(
        "lookup contrib.lookup", "KeyValueTensorInitializer TextFileIndex TextFileInitializer StaticHashTable"
    )
    + "contrib.lookup.HashTable=StaticHashTable tables_initializer initializers.tables_initializer "
    "initialize_all_tables",
    "ops.math.arithmetic": "add math.add subtract math.subtract multiply math.multiply realdiv floor_div floormod "
    "math.floormod mod=floormod math.mod=floormod maximum math.maximum minimum math.minimum squared_difference "
    "math.squared_difference truediv math.truediv divide math.divide div div_no_nan math.divide_no_nan=div_no_nan "
    "floordiv math.floordiv pow math.pow",
    "ops.math.casting": "cast dtypes.cast to_float to_double to_int32 to_int64 to_bfloat16",
    "ops.math.clipping": "clip_by_value saturate_cast dtypes.saturate_cast",
    "ops.math.comparing": "equal math.equal not_equal math.not_equal less math.less less_equal math.less_equal "
    "greater math.greater greater_equal math.greater_equal is_nan math.is_nan debugging.is_nan is_inf math.is_inf "
    "debugging.is_inf is_finite math.is_finite debugging.is_finite bitwise.bitwise_and bitwise.bitwise_or "
    "bitwise.bitwise_xor bitwise.left_shift bitwise.right_shift bitwise.invert logical_and math.logical_and "
    "logical_or math.logical_or logical_not math.logical_not logical_xor math.logical_xor",
    "ops.math.nn": "nn.relu nn.softmax math.softmax nn.moments nn.l2_normalize math.l2_normalize linalg.l2_normalize",
    "ops.math.products": "matmul linalg.matmul",
    "ops.math.reducing": "reduce_sum math.reduce_sum reduce_prod math.reduce_prod reduce_mean math.reduce_mean "
    "reduce_max math.reduce_max reduce_min math.reduce_min reduce_all math.reduce_all reduce_any math.reduce_any "
    "count_nonzero math.count_nonzero math.reduce_variance math.reduce_std argmax math.argmax argmin math.argmin "
    "arg_max arg_min",
    "ops.math.unary": "negative math.negative square math.square sqrt math.sqrt rsqrt math.rsqrt reciprocal "
    "math.reciprocal exp math.exp expm1 math.expm1 log math.log log1p math.log1p floor math.floor ceil math.ceil rint "
    "math.rint sin math.sin cos math.cos tan math.tan asin math.asin acos math.acos atan math.atan sinh math.sinh cosh "
    "math.cosh tanh math.tanh nn.tanh asinh math.asinh acosh math.acosh atanh math.atanh sigmoid math.sigmoid "
    "nn.sigmoid abs math.abs sign math.sign round math.round",
    "ops.parse.audio": "audio.decode_wav",
    "ops.parse.decoding": "decode_raw io.decode_raw decode_csv io.decode_csv",
    "ops.parse.examples": "parse_example io.parse_example parse_single_example io.parse_single_example",
    "ops.files.record_writer": "python_io.TFRecordWriter io.TFRecordWriter",
    "ops.parse.sequences": "parse_single_sequence_example io.parse_single_sequence_example",
    "ops.random.numbers": "random_uniform random.uniform=random_uniform random_normal random.normal=random_normal "
    "truncated_normal random.truncated_normal multinomial random.multinomial random.categorical",
    "ops.random.shuffle": "random_shuffle random.shuffle=random_shuffle",
    "ops.sparse.edit_distance": "edit_distance",
    "ops.sparse.form": "sparse_to_indicator sparse.to_indicator=sparse_to_indicator "
    "sparse_reorder sparse.reorder=sparse_reorder sparse_to_dense sparse_tensor_to_dense "
    "sparse.to_dense=sparse_tensor_to_dense",
    "ops.sparse.strings": "serialize_sparse io.serialize_sparse deserialize_many_sparse io.deserialize_many_sparse",
    "ops.strings.elements": "strings.lower strings.upper string_strip=strip strings.strip strings.length "
    "string_to_number=to_number strings.to_number encode_base64 io.encode_base64 decode_base64 io.decode_base64 "
    "string_to_hash_bucket=to_hash_bucket strings.to_hash_bucket string_to_hash_bucket_fast=to_hash_bucket_fast "
    "strings.to_hash_bucket_fast "
    "as_string strings.as_string dtypes.as_string",
    "ops.strings.regex": "regex_replace strings.regex_replace strings.regex_full_match",
    "ops.strings.splitting": "string_split strings.split substr strings.substr string_join=join strings.join",
    "ops.summaries.summary": "summary.scalar summary.histogram summary.image summary.merge summary.merge_all",
    "ops.summaries.writer": "summary.FileWriter summary.FileWriterCache",
    "ops.variables.collections": "is_variable_initialized global_variables all_variables local_variables "
    "trainable_variables moving_average_variables variables_initializer initialize_variables "
    "global_variables_initializer initialize_all_variables local_variables_initializer initialize_local_variables "
    "report_uninitialized_variables initializers.variables=variables_initializer "
    "initializers.global_variables=global_variables_initializer "
    "initializers.local_variables=local_variables_initializer train.get_global_step train.create_global_step "
    "train.get_or_create_global_step train.global_step train.assert_global_step contrib.framework.get_global_step "
    "contrib.framework.create_global_step contrib.framework.get_or_create_global_step "
    "contrib.framework.assert_global_step",
    "ops.variables.initializers": "zeros_initializer initializers.zeros=zeros_initializer ones_initializer "
    "initializers.ones=ones_initializer constant_initializer initializers.constant=constant_initializer "
    "random_uniform_initializer initializers.random_uniform=random_uniform_initializer random_normal_initializer "
    "initializers.random_normal=random_normal_initializer truncated_normal_initializer "
    "initializers.truncated_normal=truncated_normal_initializer glorot_uniform_initializer "
    "initializers.glorot_uniform=glorot_uniform_initializer",
    "ops.variables.scope": "variable_scope VariableScope get_variable get_local_variable get_variable_scope",
    "ops.variables.store": "AUTO_REUSE",
    "ops.variables.updates": "scatter_update scatter_add scatter_sub assign assign_add assign_sub count_up_to",
    "ops.variables.variable": "Variable VariableAggregation VariableSynchronization",
    "areas.record_input": "RecordInput",
    "areas.staging": "StagingArea contrib.staging.StagingArea MapStagingArea contrib.staging.MapStagingArea",
    "queues.queues": "QueueBase queue.QueueBase io.QueueBase FIFOQueue queue.FIFOQueue RandomShuffleQueue "
    "queue.RandomShuffleQueue io.RandomShuffleQueue PaddingFIFOQueue queue.PaddingFIFOQueue io.PaddingFIFOQueue "
    "PriorityQueue queue.PriorityQueue io.PriorityQueue",
    "queues.runner": "train.QueueRunner train.queue_runner.QueueRunner train.add_queue_runner "
    "train.queue_runner.add_queue_runner train.start_queue_runners train.queue_runner.start_queue_runners",
    "queues.runner_def": "train.QueueRunnerDef",
    "input.batching": "train.batch train.maybe_batch train.batch_join train.maybe_batch_join train.shuffle_batch "
    "train.maybe_shuffle_batch train.shuffle_batch_join train.maybe_shuffle_batch_join",
    "input.buckets": "contrib.training.bucket contrib.training.bucket_by_sequence_length",
    "input.producers": "train.input_producer train.string_input_producer train.range_input_producer "
    "train.limit_epochs train.slice_input_producer train.match_filenames_once io.match_filenames_once",
    "input.sampling": "contrib.training.rejection_sample contrib.training.stratified_sample",
    "input.readers": "ReaderBase TextLineReader FixedLengthRecordReader WholeFileReader TFRecordReader "
    "IdentityReader LMDBReader",
    "input.sequences": "contrib.training.batch_sequences_with_states contrib.training.NextQueuedSequenceBatch",
    "monitored.hooks": "train.LoggingTensorHook train.StopAtStepHook train.NanTensorHook "
    "train.NanLossDuringTrainingError train.GlobalStepWaiterHook train.FinalOpsHook train.FeedFnHook "
    "train.CheckpointSaverHook train.CheckpointSaverListener train.SessionRunHook train.SessionRunArgs "
    "train.SessionRunContext train.SessionRunValues",
    "monitored.scaffold": "train.Scaffold",
    "monitored.session": "train.MonitoredSession train.SingularMonitoredSession train.MonitoredTrainingSession",
    "monitored.session_manager": "train.SessionManager train.SessionCreator train.ChiefSessionCreator "
    "train.WorkerSessionCreator",
    "monitored.supervisor": "train.Supervisor",
    "monitored.step_timer": "train.SecondOrStepTimer",
    "monitored.summary_hooks": "train.SummarySaverHook train.StepCounterHook",
    "platform.behaviour": "version.VERSION executing_eagerly disable_v2_behavior disable_eager_execution "
    "disable_v2_tensorshape disable_control_flow_v2 disable_resource_variables disable_tensor_equality",
    "platform.text": "compat.as_bytes compat.as_text compat.as_str compat.as_str_any",
    "platform.flags": _within(
        "flags app.flags",
        "DEFINE_string DEFINE_boolean DEFINE_bool DEFINE_integer DEFINE_float DEFINE_enum DEFINE_enum_class "
        "DEFINE_list DEFINE_spaceseplist DEFINE_multi_string DEFINE_multi_integer DEFINE_multi_float "
        "DEFINE_multi_enum DEFINE_multi_enum_class DEFINE_alias DEFINE_flag set_default register_validator validator "
        "register_multi_flags_validator multi_flags_validator mark_flag_as_required mark_flags_as_required "
        "mark_flags_as_mutual_exclusive mark_bool_flags_as_mutual_exclusive declare_key_flag adopt_module_key_flags "
        "disclaim_key_flags FlagHolder FLAGS Flag FlagValues Error CantOpenFlagFileError DuplicateFlagError "
        "FlagNameConflictsWithMethodError IllegalFlagValueError UnparsedFlagAccessError UnrecognizedFlagError "
        "ValidationError",
    )
    + "app.run",
    "platform.tf_logging": _within(
        "logging",
        "DEBUG INFO WARN ERROR FATAL log debug info warning warn error fatal vlog TaskLevelStatusMessage flush log_if "
        "log_first_n log_every_n get_verbosity set_verbosity",
    )
    + "get_logger",
}
