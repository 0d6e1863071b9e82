"""Hints for TensorFlow names missing from the drop-in, used by errors and `python -m pipeline check`."""

from __future__ import annotations

_MODEL = "model code: keep it in the framework that trains, and give it the batches"

# Hints by name; the longest matching prefix counts.
_WHY = {
    _MODEL: "AggregationMethod ConditionalAccumulator ConditionalAccumulatorBase GradientTape "
    "SparseConditionalAccumulator accumulate_n add_n clip_by_average_norm clip_by_global_norm clip_by_norm "
    "confusion_matrix contrib.layers contrib.metrics contrib.rnn contrib.seq2seq contrib.slim custom_gradient "
    "distributions estimator feature_column global_norm gradients hessians image.image_gradients "
    "image.non_max_suppression image.non_max_suppression_overlaps image.non_max_suppression_with_scores image.psnr "
    "image.sobel_edges image.ssim image.ssim_multiscale image.total_variation keras layers lite log_sigmoid losses "
    "metrics mixed_precision nn quantization saved_model sparse.SparseConditionalAccumulator tpu "
    "train.ExponentialMovingAverage train.cosine_decay train.exponential_decay train.inverse_time_decay "
    "train.natural_exp_decay train.piecewise_constant train.polynomial_decay xla",
    "no model, nothing to save: keep it in the framework that trains": "train.Checkpoint train.CheckpointManager "
    "train.NewCheckpointReader train.Saver train.checkpoint_exists train.checkpoints_iterator "
    "train.get_checkpoint_mtimes train.get_checkpoint_state train.init_from_checkpoint train.latest_checkpoint "
    "train.list_variables train.load_checkpoint train.load_variable train.remove_checkpoint "
    "train.update_checkpoint_state train.warm_start",
    "initial values of inputs are tf.constant_initializer, zeros_initializer, random_uniform_initializer, "
    "random_normal_initializer, truncated_normal_initializer or glorot_uniform_initializer; those of a model's "
    "weights belong to the framework that trains": "glorot_normal_initializer initializers no_regularizer "
    "orthogonal_initializer uniform_unit_scaling_initializer variance_scaling_initializer",
    "no eager mode: use the native API": "enable_eager_execution enable_v2_behavior",
    "TensorFlow 2: the drop-in has the names of TensorFlow 1": "compat.v2",
    "TensorFlow 2: in TensorFlow 1 the order of examples depends on the timing of threads. Use the native API for a "
    "fixed order, with pipeline.shuffle_batch(..., deterministic=True)": "config",
    "the drop-in is TensorFlow 1's input by queues: use tf.train.slice_input_producer or "
    "tf.train.string_input_producer and tf.train.batch. In the native API pipeline.tf_data reads a "
    "tf.data.Dataset": "data",
    "tf.contrib is not in the drop-in": "contrib",
    "read the files by tf.train.string_input_producer and a reader, and make batches by tf.train.shuffle_batch or "
    "tf.train.batch": "contrib.learn.read_batch_examples contrib.learn.read_batch_features "
    "contrib.learn.read_batch_record_features contrib.slim.dataset_data_provider contrib.slim.parallel_reader",
    "a module of TensorFlow's inside: use the public name": "core python",
    "a tutorial's helper: read its files yourself, then tf.train.slice_input_producer takes the arrays": "examples",
    "there are no servers here. Each worker is a program of its own, with its share of the files; queues that several "
    "programs share are pipeline.cluster.RemoteQueue": "distribute train.ClusterDef train.ClusterSpec train.Server "
    "train.ServerDef",
    "leave questions about devices and builds out: everything runs on the CPU": "COMPILER_VERSION GIT_VERSION "
    "GRAPH_DEF_VERSION sysconfig test version",
    "TensorFlow 2 or a switch of it: leave it out": "compat.forward_compatible control_flow_v2_enabled "
    "enable_control_flow_v2 enable_resource_variables enable_tensor_equality enable_v2_tensorshape "
    "executing_eagerly_outside_functions function init_scope resource_variables_enabled wrap_function",
    "use pathlib: a path beside `__file__`": "resource_loader",
    "graphs are not read from files or written to them": "graph_util import_graph_def io.write_graph "
    "train.export_meta_graph train.import_meta_graph train.write_graph",
    "call the public function of the op": "raw_ops",
    "use Python for structures: tuples, lists and dicts, `isinstance` and comprehensions": ""
    "compat.bytes_or_text_types compat.complex_types compat.integral_types compat.path_to_bytes compat.path_to_str "
    "compat.real_types contrib.framework.nest fingerprint is_tensor nest timestamp",
    "use `shape[i]`, or tf.compat.dimension_value of it": "compat.dimension_at_index dimension_at_index",
    "write a function that uses tf.get_variable in tf.variable_scope(..., reuse=tf.AUTO_REUSE)": "make_template "
    "variable_op_scope",
    "use scatter_update, scatter_add, scatter_sub or assign": "batch_scatter_update scatter_div scatter_max "
    "scatter_min scatter_mul scatter_nd_add scatter_nd_sub scatter_nd_update",
    "use tf.random_uniform, random_normal or truncated_normal with a seed=": "random.stateless_categorical "
    "random.stateless_multinomial random.stateless_normal random.stateless_truncated_normal random.stateless_uniform",
    "use tf.gather, tf.gather(..., batch_dims=) or tf.gather_nd": "batch_gather diag_part repeat",
    "use the shape of the sum of the two tensors": "broadcast_dynamic_shape",
    "use tf.shape or tf.identity of each tensor": "identity_n shape_n",
    "use tf.identity": "guarantee_const",
    "use tf.image.encode_jpeg(..., quality=) and decode_jpeg": "image.adjust_jpeg_quality image.random_jpeg_quality",
    "use tf.convert_to_tensor": "convert_to_tensor_or_indexed_slices",
    "use tf.report_uninitialized_variables": "assert_variables_initialized",
    "use tf.global_variables, or a collection of your own": "model_variables",
    "write a tf.train.Example, or read the bytes of an array by tf.decode_raw": "io.parse_tensor io.serialize_tensor "
    "parse_tensor serialize_tensor",
    "use tf.stack of tf.serialize_sparse of each row": "io.serialize_many_sparse serialize_many_sparse",
    "leave it out: files are local": "io.gfile.get_registered_schemes",
    "use a Python list of tensors and tf.stack, tf.map_fn or tf.scan": "TensorArray",
    "use tf.map_fn or tf.scan, or a loop of Python's in a tf.py_func": "while_loop",
    "put one tf.cond into another": "case",
    "use tf.transpose(x, perm)": "matrix_transpose",
    "use tf.concat of two slices": "manip.roll roll",
    "make the array by NumPy: it is a constant; or in a tf.py_func": "diag eye lin_space linspace meshgrid",
    "use tf.nn.top_k, or NumPy in a tf.py_func": "argsort searchsorted sort",
    "use tf.tile, or add tf.zeros of that shape": "broadcast_to",
    "use tf.decode_raw of bytes, or the view of an array in a tf.py_func": "bitcast",
    "use tf.Print": "print",
    "use tf.image.crop_to_bounding_box and tf.image.resize_images": "image.crop_and_resize image.extract_glimpse",
    "use tf.image.resize_images(..., preserve_aspect_ratio=True) and tf.image.resize_image_with_crop_or_pad": ""
    "image.resize_image_with_pad",
    "parse the indices and the values as two tf.VarLenFeature": "SparseFeature io.SparseFeature",
    "make a tf.SparseTensor of three tf.placeholder": "sparse.placeholder sparse_placeholder",
    "use tf.scan, whose last row (with reverse=True its first) is the result": "foldl foldr",
    "use tf.parse_single_sequence_example, and tf.train.batch(..., dynamic_pad=True)": "io.parse_sequence_example",
    "use tf.device with a name: all runs on the CPU": "DeviceSpec colocate_with",
    "use tf.check_numerics of each tensor": "add_check_numerics_ops debugging.assert_all_finite "
    "verify_tensor_all_finite",
    "use a reader with compressed files, or zlib in a tf.py_func": "decode_compressed io.decode_compressed",
    "use tf.assert_less(tf.abs(x - y), tolerance)": "assert_near debugging.assert_near",
    "use NumPy on complex numbers in a tf.py_func": "to_complex128 to_complex64 complex conj dtypes.complex imag "
    "math.conj math.imag math.real real",
    "use tf.string_join of tf.unstack(x, axis=...)": "reduce_join strings.reduce_join",
    "use isinstance": "assert_proper_iterable debugging.assert_proper_iterable",
    "use tf.reshape and tf.transpose": "batch_to_space batch_to_space_nd depth_to_space manip.batch_to_space_nd "
    "manip.space_to_batch_nd nn.depth_to_space nn.space_to_depth space_to_depth required_space_to_batch_paddings "
    "space_to_batch space_to_batch_nd",
    "use the operators, tf.floordiv and tf.floormod, which round down, or tf.div_no_nan": "math.multiply_no_nan "
    "math.polyval math.reciprocal_no_nan math.xlogy scalar_mul truncatediv truncatemod",
    "use tf.matmul, or np.linalg in a tf.py_func": "cholesky cholesky_solve cross einsum linalg matrix_band_part "
    "matrix_determinant matrix_diag matrix_diag_part matrix_inverse matrix_set_diag matrix_solve matrix_solve_ls "
    "matrix_square_root matrix_triangular_solve norm qr self_adjoint_eig self_adjoint_eigvals svd tensordot trace",
    "use tf.summary.scalar, image or histogram, or pass a tf.Summary of your own to FileWriter.add_summary": "summary",
    "compare slices, such as `x[1:] >= x[:-1]`": "is_non_decreasing is_strictly_increasing",
    "use tf.SparseTensor.from_value or tf.convert_to_tensor": "convert_to_tensor_or_sparse_tensor",
    "use tf.where and tf.concat, or NumPy in a tf.py_func": "dynamic_stitch manip.scatter_nd scatter_nd "
    "tensor_scatter_add tensor_scatter_nd_add tensor_scatter_nd_max tensor_scatter_nd_min tensor_scatter_nd_sub "
    "tensor_scatter_nd_update tensor_scatter_sub tensor_scatter_update",
    "compare with the dtypes that you mean": "QUANTIZED_DTYPES dtypes.QUANTIZED_DTYPES",
    "use a FIFOQueue for each part, or a tf.py_func that waits for all parts of a key": "Barrier",
    "rows of different lengths are SparseTensors here: tf.sparse_tensor_to_dense pads them, and so does "
    "tf.train.batch(..., dynamic_pad=True)": "RaggedTensor ragged",
    "tables do not change here: use tf.contrib.lookup.index_table_from_tensor, index_table_from_file or "
    "tf.lookup.StaticHashTable; or a dict in a tf.py_func": "contrib.lookup lookup",
    "decode the text in Python, in a tf.py_func": "strings.bytes_split strings.unicode_decode "
    "strings.unicode_decode_with_offsets strings.unicode_encode strings.unicode_script strings.unicode_split "
    "strings.unicode_split_with_offsets strings.unicode_transcode",
    "compare `x.shape`, or use tf.assert_equal(tf.shape(x), ...)": "assert_integer assert_rank assert_rank_at_least "
    "assert_rank_in assert_same_float_dtype assert_scalar assert_type debugging is_numeric_tensor",
    "make it dense by tf.sparse_tensor_to_dense, or use NumPy in a tf.py_func": "sparse sparse_add sparse_concat "
    "sparse_merge sparse_reshape sparse_fill_empty_rows sparse_mask sparse_maximum sparse_minimum sparse_reduce_max "
    "sparse_reduce_max_sparse sparse_reduce_sum sparse_reduce_sum_sparse sparse_reset_shape sparse_retain "
    "sparse_segment_mean sparse_segment_sqrt_n sparse_segment_sum sparse_slice sparse_softmax sparse_split "
    "sparse_tensor_dense_matmul sparse_transpose",
    "use NumPy in a tf.py_func": "angle atan2 cumprod cumsum segment_max segment_mean segment_min segment_prod "
    "segment_sum unsorted_segment_max unsorted_segment_min unsorted_segment_prod unsorted_segment_sum betainc bincount "
    "decode_json_example digamma erf erfc extract_image_patches fft fft2d fft3d histogram_fixed_width "
    "histogram_fixed_width_bins ifft ifft2d ifft3d igamma igammac image.extract_image_patches image.extract_patches "
    "image.rgb_to_yiq image.rgb_to_yuv image.yiq_to_rgb image.yuv_to_rgb invert_permutation io.decode_json_example "
    "lbeta lgamma make_ndarray make_tensor_proto math polygamma random.gamma random.poisson random_gamma "
    "random_poisson reduce_logsumexp setdiff1d sets signal spectral listdiff strings.format unique_with_counts "
    "unravel_index unsorted_segment_mean unsorted_segment_sqrt_n zeta",
    "use tf.py_func, whose function gets NumPy arrays": "py_function",
    "use tf.string_to_hash_bucket_fast, or hash the strings in a tf.py_func": "string_to_hash_bucket_strong "
    "strings.to_hash_bucket_strong",
}
# Names from before TensorFlow 1.0, and their replacements.
_RENAMED = {
    "batch_matmul": "matmul",
    "batch_matrix_transpose": "matrix_transpose",
    "complex_abs": "abs",
    "concat_v2": "concat",
    "histogram_summary": "summary.histogram",
    "image.per_image_whitening": "image.per_image_standardization",
    "image_summary": "summary.image",
    "inv": "reciprocal",
    "merge_all_summaries": "summary.merge_all",
    "merge_all_summary": "summary.merge_all",
    "merge_summary": "summary.merge",
    "mul": "multiply",
    "neg": "negative",
    "pack": "stack",
    "scalar_summary": "summary.scalar",
    "select": "where",
    "sub": "subtract",
    "train.SummaryWriter": "summary.FileWriter",
    "unpack": "unstack",
}
# Functions with another argument order before TensorFlow 1.0: old order, new order.
REORDERED = {
    "concat": ("concat(concat_dim, values)", "concat(values, axis)"),
    "split": ("split(split_dim, num_split, value)", "split(value, num_or_size_splits, axis)"),
}
_REASONS = {name: why for why, names in _WHY.items() for name in names.split()}


def reason(name: str) -> str:
    """Return why the drop-in lacks a dotted name, and what to do instead; "" if there is no hint."""
    for old, new in REORDERED.values():
        if name == old:
            return f"its arguments since TensorFlow 1.0 are tf.{new}"
    if name in _RENAMED:
        return f"its name since TensorFlow 1.0 is tf.{_RENAMED[name]}"
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        text = _REASONS.get(".".join(parts[:count]))
        if text is not None:
            return text
    return _MODEL if name.startswith("train.") and name.endswith("Optimizer") else ""
