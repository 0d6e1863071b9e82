"""ConfigProto, RunOptions and their parts: a program's run settings. Only timeouts have an effect here."""

from __future__ import annotations

from pipeline.proto.schema import Message, Schema

# The messages without fields have some in TensorFlow, and keep those of others as unknown ones.
_SCHEMA = Schema(
    "settings",
    """
    message GPUOptions {
        message Experimental {}
        double per_process_gpu_memory_fraction = 1;
        string allocator_type = 2;
        int64 deferred_deletion_bytes = 3;
        bool allow_growth = 4;
        string visible_device_list = 5;
        int32 polling_active_delay_usecs = 6;
        int32 polling_inactive_delay_msecs = 7;
        bool force_gpu_compatible = 8;
        Experimental experimental = 9;
    }
    message RewriterConfig {
        enum Toggle {
            DEFAULT = 0;
            ON = 1;
            OFF = 2;
            AGGRESSIVE = 3;
        }
        enum NumIterationsType {
            DEFAULT_NUM_ITERS = 0;
            ONE = 1;
            TWO = 2;
        }
        enum MemOptType {
            DEFAULT_MEM_OPT = 0;
            NO_MEM_OPT = 1;
            MANUAL = 2;
            HEURISTICS = 3;
            SWAPPING_HEURISTICS = 4;
            RECOMPUTATION_HEURISTICS = 5;
            SCHEDULING_HEURISTICS = 6;
        }
        Toggle layout_optimizer = 1;
        bool disable_model_pruning = 2;
        Toggle constant_folding = 3;
        MemOptType memory_optimization = 4;
        Toggle arithmetic_optimization = 7;
        Toggle dependency_optimization = 8;
        Toggle loop_optimization = 9;
        Toggle function_optimization = 10;
        NumIterationsType meta_optimizer_iterations = 12;
        Toggle shape_optimization = 13;
        Toggle remapping = 14;
    }
    message OptimizerOptions {
        enum Level {
            L1 = 0;
            L0 = -1;
        }
        enum GlobalJitLevel {
            DEFAULT = 0;
            OFF = -1;
            ON_1 = 1;
            ON_2 = 2;
        }
        bool do_common_subexpression_elimination = 1;
        bool do_constant_folding = 2;
        Level opt_level = 3;
        bool do_function_inlining = 4;
        GlobalJitLevel global_jit_level = 5;
    }
    message GraphOptions {
        bool enable_recv_scheduling = 2;
        OptimizerOptions optimizer_options = 3;
        int64 build_cost_model = 4;
        bool infer_shapes = 5;
        bool place_pruned_graph = 6;
        bool enable_bfloat16_sendrecv = 7;
        int32 timeline_step = 8;
        int64 build_cost_model_after = 9;
        RewriterConfig rewrite_options = 10;
    }
    message ThreadPoolOptionProto {
        int32 num_threads = 1;
        string global_name = 2;
    }
    message ConfigProto {
        message RPCOptions {}
        message ClusterDef {}
        message Experimental {}
        map<string, int32> device_count = 1;
        int32 intra_op_parallelism_threads = 2;
        int32 placement_period = 3;
        repeated string device_filters = 4;
        int32 inter_op_parallelism_threads = 5;
        GPUOptions gpu_options = 6;
        bool allow_soft_placement = 7;
        bool log_device_placement = 8;
        bool use_per_session_threads = 9;
        GraphOptions graph_options = 10;
        int64 operation_timeout_in_ms = 11;
        repeated ThreadPoolOptionProto session_inter_op_thread_pool = 12;
        RPCOptions rpc_options = 13;
        ClusterDef cluster_def = 14;
        bool isolate_session_state = 15;
        Experimental experimental = 16;
        bool share_cluster_devices_in_session = 17;
    }
    message RunOptions {
        enum TraceLevel {
            NO_TRACE = 0;
            SOFTWARE_TRACE = 1;
            HARDWARE_TRACE = 2;
            FULL_TRACE = 3;
        }
        message DebugOptions {}
        message Experimental {}
        TraceLevel trace_level = 1;
        int64 timeout_in_ms = 2;
        int32 inter_op_thread_pool = 3;
        bool output_partition_graphs = 5;
        DebugOptions debug_options = 6;
        bool report_tensor_allocations_upon_oom = 7;
        Experimental experimental = 8;
    }
    message RunMetadata {
        message StepStats {}
        message CostGraphDef {}
        message GraphDef {}
        message FunctionGraphs {}
        message SessionMetadata {}
        StepStats step_stats = 1;
        CostGraphDef cost_graph = 2;
        repeated GraphDef partition_graphs = 3;
        repeated FunctionGraphs function_graphs = 4;
        SessionMetadata session_metadata = 5;
    }
    """,
)


@_SCHEMA.message
class GPUOptions(Message):
    """Accepted, without effect."""


@_SCHEMA.message
class RewriterConfig(Message):
    """Accepted, without effect."""


@_SCHEMA.message
class OptimizerOptions(Message):
    """Accepted, without effect."""


@_SCHEMA.message
class GraphOptions(Message):
    """Accepted, without effect."""


@_SCHEMA.message
class ThreadPoolOptionProto(Message):
    """Accepted, without effect."""


@_SCHEMA.message
class ConfigProto(Message):
    """Session settings: `operation_timeout_in_ms` limits each run; the rest is accepted, without effect."""


@_SCHEMA.message
class RunOptions(Message):
    """Settings for one run: `timeout_in_ms` limits it; the rest is accepted, without effect."""


@_SCHEMA.message
class RunMetadata(Message):
    """Stays empty, because runs are not traced."""
