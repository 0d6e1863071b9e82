"""Made by tests/support/compat_stub.py from pipeline/compat/names.py."""

from pipeline.compat.platform.tf_logging import DEBUG as DEBUG
from pipeline.compat.platform.tf_logging import ERROR as ERROR
from pipeline.compat.platform.tf_logging import FATAL as FATAL
from pipeline.compat.platform.tf_logging import INFO as INFO
from pipeline.compat.platform.tf_logging import TaskLevelStatusMessage as TaskLevelStatusMessage
from pipeline.compat.platform.tf_logging import WARN as WARN
from pipeline.compat.platform.tf_logging import debug as debug
from pipeline.compat.platform.tf_logging import error as error
from pipeline.compat.platform.tf_logging import fatal as fatal
from pipeline.compat.platform.tf_logging import flush as flush
from pipeline.compat.platform.tf_logging import get_verbosity as get_verbosity
from pipeline.compat.platform.tf_logging import info as info
from pipeline.compat.platform.tf_logging import log as log
from pipeline.compat.platform.tf_logging import log_every_n as log_every_n
from pipeline.compat.platform.tf_logging import log_first_n as log_first_n
from pipeline.compat.platform.tf_logging import log_if as log_if
from pipeline.compat.platform.tf_logging import set_verbosity as set_verbosity
from pipeline.compat.platform.tf_logging import vlog as vlog
from pipeline.compat.platform.tf_logging import warn as warn
from pipeline.compat.platform.tf_logging import warning as warning
