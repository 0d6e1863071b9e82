"""Why the drop-in lacks names of TensorFlow, and what to use instead: for errors and `python -m pipeline check`."""

from __future__ import annotations

_MODEL = "model code: keep it in the framework that trains, and give it the batches"

# What is said of which names; of a longer name its longest prefix counts.
_WHY = {
    _MODEL: "ConditionalAccumulator ConditionalAccumulatorBase GradientTape SparseConditionalAccumulator "
    "contrib.layers contrib.slim estimator get_variable_scope gradients hessians initializers keras layers losses "
    "metrics nn saved_model sparse.SparseConditionalAccumulator train.ExponentialMovingAverage",
    "no model, nothing to save: keep it in the framework that trains": "train.Saver",
    "no eager mode: use the native API": "enable_eager_execution enable_v2_behavior",
    "TensorFlow 2: the drop-in has the names of TensorFlow 1": "compat.v2",
    "TensorFlow 2: in TensorFlow 1 the order of examples depends on the timing of threads. Use the native API for a "
    "fixed order, with pipeline.shuffle_batch(..., deterministic=True)": "config",
    "the drop-in is TensorFlow 1's input by queues: use tf.train.slice_input_producer or "
    "tf.train.string_input_producer and tf.train.batch. In the native API pipeline.tf_data reads a "
    "tf.data.Dataset": "data",
    "tf.contrib is not in the drop-in": "contrib",
    "a module of TensorFlow's inside: use the public name": "core python",
    "a tutorial's helper: read its files yourself, then tf.train.slice_input_producer takes the arrays": "examples",
    "there are no servers here. Each worker is a program of its own, with its share of the files; queues that several "
    "programs share are pipeline.cluster.RemoteQueue": "distribute train.ClusterDef train.ClusterSpec train.Server "
    "train.ServerDef",
    "leave questions about devices out: everything runs on the CPU": "test",
    "use pathlib: a path beside `__file__`": "resource_loader",
    "graphs are not read from files": "train.import_meta_graph",
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
    "make it dense by tf.sparse_tensor_to_dense, or use NumPy in a tf.py_func": "sparse sparse_add "
    "sparse_fill_empty_rows sparse_mask sparse_maximum sparse_minimum sparse_reduce_max sparse_reduce_max_sparse "
    "sparse_reduce_sum sparse_reduce_sum_sparse sparse_reset_shape sparse_segment_mean sparse_segment_sqrt_n "
    "sparse_segment_sum sparse_slice sparse_softmax sparse_split sparse_tensor_dense_matmul sparse_transpose",
    "use NumPy in a tf.py_func": "angle decode_json_example extract_image_patches image.extract_image_patches "
    "image.extract_patches io.decode_json_example linalg make_ndarray make_tensor_proto math matrix_band_part "
    "matrix_diag matrix_set_diag norm random.gamma random.poisson random_gamma random_poisson strings.format "
    "tensor_scatter_add tensor_scatter_nd_add unsorted_segment_mean unsorted_segment_sqrt_n",
    "use tf.py_func, whose function gets NumPy arrays": "py_function",
}
# Names of before TensorFlow 1.0, and what they became.
_RENAMED = {
    "batch_matmul": "matmul",
    "batch_matrix_transpose": "matrix_transpose",
    "complex_abs": "abs",
    "concat_v2": "concat",
    "histogram_summary": "summary.histogram",
    "image.per_image_whitening": "image.per_image_standardization",
    "image_summary": "summary.image",
    "inv": "reciprocal",
    "listdiff": "setdiff1d",
    "merge_all_summaries": "summary.merge_all",
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
_REASONS = {name: why for why, names in _WHY.items() for name in names.split()}


def reason(name: str) -> str:
    """Return why the drop-in lacks a dotted name, and what to do; "" if there is nothing to say."""
    if name in _RENAMED:
        return f"its name since TensorFlow 1.0 is tf.{_RENAMED[name]}"
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        text = _REASONS.get(".".join(parts[:count]))
        if text is not None:
            return text
    return _MODEL if name.startswith("train.") and name.endswith("Optimizer") else ""
