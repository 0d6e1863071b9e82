"""ConfigProto, RunOptions and their parts: a program's run settings. Only timeouts have an effect here."""

from __future__ import annotations

from pipeline.proto.fields import MessageField, MessageListField, Scalar, ScalarMapField, Scalars
from pipeline.proto.message import Message
from pipeline.proto.scalar_types import BOOL, DOUBLE, INT32, INT64, STRING


class _Ignored(Message):
    """A message with unmodelled fields: it is read as an empty one."""


class GPUOptions(Message):
    """Accepted, without effect."""

    per_process_gpu_memory_fraction = Scalar(1, DOUBLE)
    allocator_type = Scalar(2, STRING)
    deferred_deletion_bytes = Scalar(3, INT64)
    allow_growth = Scalar(4, BOOL)
    visible_device_list = Scalar(5, STRING)
    polling_active_delay_usecs = Scalar(6, INT32)
    polling_inactive_delay_msecs = Scalar(7, INT32)
    force_gpu_compatible = Scalar(8, BOOL)
    experimental = MessageField(9, _Ignored)


class RewriterConfig(Message):
    """Accepted, without effect."""

    layout_optimizer = Scalar(1, INT32)
    disable_model_pruning = Scalar(2, BOOL)
    constant_folding = Scalar(3, INT32)
    memory_optimization = Scalar(4, INT32)
    arithmetic_optimization = Scalar(7, INT32)
    dependency_optimization = Scalar(8, INT32)
    loop_optimization = Scalar(9, INT32)
    function_optimization = Scalar(10, INT32)
    meta_optimizer_iterations = Scalar(12, INT32)
    shape_optimization = Scalar(13, INT32)
    remapping = Scalar(14, INT32)
    DEFAULT, ON, OFF, AGGRESSIVE = 0, 1, 2, 3
    NO_MEM_OPT, DEFAULT_MEM_OPT = 1, 0


class OptimizerOptions(Message):
    """Accepted, without effect."""

    do_common_subexpression_elimination = Scalar(1, BOOL)
    do_constant_folding = Scalar(2, BOOL)
    opt_level = Scalar(3, INT32)
    do_function_inlining = Scalar(4, BOOL)
    global_jit_level = Scalar(5, INT32)
    L1, L0, DEFAULT, OFF, ON_1, ON_2 = 0, -1, 0, -1, 1, 2


class GraphOptions(Message):
    """Accepted, without effect."""

    enable_recv_scheduling = Scalar(2, BOOL)
    optimizer_options = MessageField(3, OptimizerOptions)
    build_cost_model = Scalar(4, INT64)
    infer_shapes = Scalar(5, BOOL)
    place_pruned_graph = Scalar(6, BOOL)
    enable_bfloat16_sendrecv = Scalar(7, BOOL)
    timeline_step = Scalar(8, INT32)
    build_cost_model_after = Scalar(9, INT64)
    rewrite_options = MessageField(10, RewriterConfig)


class _ThreadPool(Message):
    num_threads = Scalar(1, INT32)
    global_name = Scalar(2, STRING)


class ConfigProto(Message):
    """Session settings: `operation_timeout_in_ms` limits each run; the rest is accepted, without effect."""

    device_count = ScalarMapField(1, INT32)
    intra_op_parallelism_threads = Scalar(2, INT32)
    placement_period = Scalar(3, INT32)
    device_filters = Scalars(4, STRING)
    inter_op_parallelism_threads = Scalar(5, INT32)
    gpu_options = MessageField(6, GPUOptions)
    allow_soft_placement = Scalar(7, BOOL)
    log_device_placement = Scalar(8, BOOL)
    use_per_session_threads = Scalar(9, BOOL)
    graph_options = MessageField(10, GraphOptions)
    operation_timeout_in_ms = Scalar(11, INT64)
    session_inter_op_thread_pool = MessageListField(12, _ThreadPool)
    rpc_options = MessageField(13, _Ignored)
    cluster_def = MessageField(14, _Ignored)
    isolate_session_state = Scalar(15, BOOL)
    experimental = MessageField(16, _Ignored)
    share_cluster_devices_in_session = Scalar(17, BOOL)


class RunOptions(Message):
    """Settings for one run: `timeout_in_ms` limits it; the rest is accepted, without effect."""

    trace_level = Scalar(1, INT32)
    timeout_in_ms = Scalar(2, INT64)
    inter_op_thread_pool = Scalar(3, INT32)
    output_partition_graphs = Scalar(5, BOOL)
    debug_options = MessageField(6, _Ignored)
    report_tensor_allocations_upon_oom = Scalar(7, BOOL)
    experimental = MessageField(8, _Ignored)
    NO_TRACE, SOFTWARE_TRACE, HARDWARE_TRACE, FULL_TRACE = 0, 1, 2, 3


class RunMetadata(Message):
    """Stays empty, because runs are not traced."""

    step_stats = MessageField(1, _Ignored)
    cost_graph = MessageField(2, _Ignored)
    partition_graphs = MessageListField(3, _Ignored)
    function_graphs = MessageListField(4, _Ignored)
    session_metadata = MessageField(5, _Ignored)
