"""ConfigProto, RunOptions and their like: what a program says about how to run. Only timeouts have an effect."""

from __future__ import annotations

from typing import Any, ClassVar


class Message:
    """Fields with defaults, as a protocol buffer has them; others are a ValueError."""

    _fields: ClassVar[dict[str, Any]] = {}

    def __init__(self, **fields: Any) -> None:
        for name, default in self._fields.items():
            self.__dict__[name] = default() if callable(default) else default
        for name, value in fields.items():
            if name not in self._fields:
                raise ValueError(f'Protocol message {type(self).__name__} has no "{name}" field.')
            current = self.__dict__[name]
            if isinstance(current, dict):
                current.update(value)
            elif value is not None:
                self.__dict__[name] = value

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f'Protocol message {type(self).__name__} has no "{name}" field.')

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._fields:
            raise AttributeError(f'Protocol message {type(self).__name__} has no "{name}" field.')
        self.__dict__[name] = value

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]

    def CopyFrom(self, other: Any) -> None:
        """Take all fields of `other`."""
        self.__dict__.update(other.__dict__)

    MergeFrom = CopyFrom

    def __repr__(self) -> str:
        set_fields = {name: value for name, value in self.__dict__.items() if value != type(self)().__dict__[name]}
        return "".join(f"{name}: {value}\n" for name, value in set_fields.items())


class GPUOptions(Message):
    """Taken, and without effect."""

    _fields: ClassVar[dict[str, Any]] = {
        "per_process_gpu_memory_fraction": 0.0,
        "allow_growth": False,
        "allocator_type": "",
        "deferred_deletion_bytes": 0,
        "visible_device_list": "",
        "polling_active_delay_usecs": 0,
        "polling_inactive_delay_msecs": 0,
        "force_gpu_compatible": False,
        "experimental": dict,
    }


class RewriterConfig(Message):
    """Taken, and without effect."""

    _fields: ClassVar[dict[str, Any]] = dict.fromkeys(
        (
            "constant_folding",
            "arithmetic_optimization",
            "layout_optimizer",
            "disable_model_pruning",
            "meta_optimizer_iterations",
            "memory_optimization",
            "remapping",
            "function_optimization",
            "dependency_optimization",
            "loop_optimization",
            "shape_optimization",
        ),
        0,
    )
    DEFAULT, ON, OFF, AGGRESSIVE = 0, 1, 2, 3
    NO_MEM_OPT, DEFAULT_MEM_OPT = 1, 0


class OptimizerOptions(Message):
    """Taken, and without effect."""

    _fields: ClassVar[dict[str, Any]] = {
        "do_common_subexpression_elimination": False,
        "do_constant_folding": False,
        "do_function_inlining": False,
        "opt_level": 0,
        "global_jit_level": 0,
    }
    L1, L0, DEFAULT, OFF, ON_1, ON_2 = 0, -1, 0, -1, 1, 2


class GraphOptions(Message):
    """Taken, and without effect."""

    _fields: ClassVar[dict[str, Any]] = {
        "enable_recv_scheduling": False,
        "optimizer_options": OptimizerOptions,
        "build_cost_model": 0,
        "build_cost_model_after": 0,
        "infer_shapes": False,
        "place_pruned_graph": False,
        "enable_bfloat16_sendrecv": False,
        "timeline_step": 0,
        "rewrite_options": RewriterConfig,
    }


class ConfigProto(Message):
    """How a session runs; `operation_timeout_in_ms` limits each run, the rest is without effect."""

    _fields: ClassVar[dict[str, Any]] = {
        "device_count": dict,
        "intra_op_parallelism_threads": 0,
        "inter_op_parallelism_threads": 0,
        "use_per_session_threads": False,
        "session_inter_op_thread_pool": list,
        "placement_period": 0,
        "device_filters": list,
        "gpu_options": GPUOptions,
        "allow_soft_placement": False,
        "log_device_placement": False,
        "graph_options": GraphOptions,
        "operation_timeout_in_ms": 0,
        "rpc_options": dict,
        "cluster_def": dict,
        "isolate_session_state": False,
        "share_cluster_devices_in_session": False,
        "experimental": dict,
    }


class RunOptions(Message):
    """How one run goes; `timeout_in_ms` limits it, the rest is without effect."""

    _fields: ClassVar[dict[str, Any]] = {
        "trace_level": 0,
        "timeout_in_ms": 0,
        "inter_op_thread_pool": 0,
        "output_partition_graphs": False,
        "debug_options": dict,
        "report_tensor_allocations_upon_oom": False,
        "experimental": dict,
    }
    NO_TRACE, SOFTWARE_TRACE, HARDWARE_TRACE, FULL_TRACE = 0, 1, 2, 3


class RunMetadata(Message):
    """Stays empty: runs are not traced."""

    _fields: ClassVar[dict[str, Any]] = {
        "step_stats": dict,
        "cost_graph": dict,
        "partition_graphs": list,
        "function_graphs": list,
        "session_metadata": dict,
    }
