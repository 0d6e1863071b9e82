"""Why the drop-in lacks names of TensorFlow, and what to use instead: for errors and `python -m pipeline check`."""

from __future__ import annotations

_MODEL = "model code: keep it in the framework that trains, and give it the batches"
_EAGER = "no eager mode: use the native API"
_SERVERS = (
    "there are no servers here. Each worker is a program of its own, with its share of the files; queues that several "
    "programs share are pipeline.cluster.RemoteQueue"
)
_INTERNAL = "a module of TensorFlow's inside: use the public name"

_RAGGED = (
    "rows of different lengths are SparseTensors here: tf.sparse_tensor_to_dense pads them, and so does "
    "tf.train.batch(..., dynamic_pad=True)"
)
_UNICODE = "decode the text in Python, in a tf.py_func"
_TABLES = (
    "tables do not change here: use tf.contrib.lookup.index_table_from_tensor, index_table_from_file or "
    "tf.lookup.StaticHashTable; or a dict in a tf.py_func"
)

# Why a name is missing and what to do instead, by its longest prefix.
_REASONS = {
    "Barrier": "use a FIFOQueue for each part, or a tf.py_func that waits for all parts of a key",
    "ConditionalAccumulator": _MODEL,
    "ConditionalAccumulatorBase": _MODEL,
    "GradientTape": _MODEL,
    "RaggedTensor": _RAGGED,
    "SparseConditionalAccumulator": _MODEL,
    "compat.v2": "TensorFlow 2: the drop-in has the names of TensorFlow 1",
    "config": "TensorFlow 2: in TensorFlow 1 the order of examples depends on the timing of threads. Use the native "
    "API for a fixed order, with pipeline.shuffle_batch(..., deterministic=True)",
    "contrib": "tf.contrib is not in the drop-in",
    "contrib.layers": _MODEL,
    "contrib.lookup": _TABLES,
    "contrib.slim": _MODEL,
    "data": "the drop-in is TensorFlow 1's input by queues: use tf.train.slice_input_producer or "
    "tf.train.string_input_producer and tf.train.batch. In the native API pipeline.tf_data reads a tf.data.Dataset",
    "core": _INTERNAL,
    "distribute": _SERVERS,
    "enable_eager_execution": _EAGER,
    "enable_v2_behavior": _EAGER,
    "estimator": _MODEL,
    "examples": "a tutorial's helper: read its files yourself, then tf.train.slice_input_producer takes the arrays",
    "get_variable_scope": _MODEL,
    "gradients": _MODEL,
    "hessians": _MODEL,
    "initializers": _MODEL,
    "keras": _MODEL,
    "layers": _MODEL,
    "lookup": _TABLES,
    "losses": _MODEL,
    "metrics": _MODEL,
    "nn": _MODEL,
    "python": _INTERNAL,
    "ragged": _RAGGED,
    "resource_loader": "use pathlib: a path beside `__file__`",
    "saved_model": _MODEL,
    "sparse.SparseConditionalAccumulator": _MODEL,
    "strings.bytes_split": _UNICODE,
    **{f"strings.unicode_{name}": _UNICODE for name in ["decode", "encode", "script", "split", "transcode"]},
    **{f"strings.unicode_{name}_with_offsets": _UNICODE for name in ("decode", "split")},
    "test": "leave questions about devices out: everything runs on the CPU",
    "train.ExponentialMovingAverage": _MODEL,
    "train.Saver": "no model, nothing to save: keep it in the framework that trains",
    "train.ClusterDef": _SERVERS,
    "train.ClusterSpec": _SERVERS,
    "train.Server": _SERVERS,
    "train.ServerDef": _SERVERS,
    "train.replica_device_setter": "one process, no devices",
    "train.import_meta_graph": "graphs are not read from files",
}


def reason(name: str) -> str:
    """Return why the drop-in lacks a dotted name, and what to do; "" if there is nothing to say."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        text = _REASONS.get(".".join(parts[:count]))
        if text is not None:
            return text
    return _MODEL if name.startswith("train.") and name.endswith("Optimizer") else ""
