"""Made by tests/support/compat_stub.py from pipeline/compat/names.py."""

from pipeline.compat.graph.device_names import replica_device_setter as replica_device_setter
from pipeline.compat.input.batching import (
    batch as batch, batch_join as batch_join, maybe_batch as maybe_batch, maybe_batch_join as maybe_batch_join,
    maybe_shuffle_batch as maybe_shuffle_batch, maybe_shuffle_batch_join as maybe_shuffle_batch_join,
    shuffle_batch as shuffle_batch, shuffle_batch_join as shuffle_batch_join,
)
from pipeline.compat.input.producers import (
    input_producer as input_producer, limit_epochs as limit_epochs, match_filenames_once as match_filenames_once,
    range_input_producer as range_input_producer, slice_input_producer as slice_input_producer,
    string_input_producer as string_input_producer,
)
from pipeline.compat.monitored.hooks import (
    CheckpointSaverHook as CheckpointSaverHook, CheckpointSaverListener as CheckpointSaverListener,
    FeedFnHook as FeedFnHook, FinalOpsHook as FinalOpsHook, GlobalStepWaiterHook as GlobalStepWaiterHook,
    LoggingTensorHook as LoggingTensorHook, NanLossDuringTrainingError as NanLossDuringTrainingError,
    NanTensorHook as NanTensorHook, SessionRunArgs as SessionRunArgs, SessionRunContext as SessionRunContext,
    SessionRunHook as SessionRunHook, SessionRunValues as SessionRunValues, StopAtStepHook as StopAtStepHook,
)
from pipeline.compat.monitored.scaffold import Scaffold as Scaffold
from pipeline.compat.monitored.session import (
    MonitoredSession as MonitoredSession, MonitoredTrainingSession as MonitoredTrainingSession,
    SingularMonitoredSession as SingularMonitoredSession,
)
from pipeline.compat.monitored.session_manager import (
    ChiefSessionCreator as ChiefSessionCreator, SessionCreator as SessionCreator, SessionManager as SessionManager,
    WorkerSessionCreator as WorkerSessionCreator,
)
from pipeline.compat.monitored.step_timer import SecondOrStepTimer as SecondOrStepTimer
from pipeline.compat.monitored.summary_hooks import (
    StepCounterHook as StepCounterHook, SummarySaverHook as SummarySaverHook,
)
from pipeline.compat.monitored.supervisor import Supervisor as Supervisor
from pipeline.compat.ops.variables.collections import (
    assert_global_step as assert_global_step, create_global_step as create_global_step,
    get_global_step as get_global_step, get_or_create_global_step as get_or_create_global_step,
    global_step as global_step,
)
from pipeline.compat.queues.runner import (
    QueueRunner as QueueRunner, add_queue_runner as add_queue_runner, start_queue_runners as start_queue_runners,
)
from pipeline.compat.queues.runner_def import QueueRunnerDef as QueueRunnerDef
from pipeline.compat.v1.train import queue_runner as queue_runner
from pipeline.files.event_file import summary_iterator as summary_iterator
from pipeline.proto.example import (
    BytesList as BytesList, Example as Example, Feature as Feature, FeatureList as FeatureList,
    FeatureLists as FeatureLists, Features as Features, FloatList as FloatList, Int64List as Int64List,
    SequenceExample as SequenceExample,
)
from pipeline.runners.coordinator import Coordinator as Coordinator
from pipeline.runners.looper import LooperThread as LooperThread
