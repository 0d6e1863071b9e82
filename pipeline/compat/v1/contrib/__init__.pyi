"""Made by tests/support/compat_stub.py from pipeline/compat/names.py."""

from pipeline.compat.v1.contrib import framework as framework
from pipeline.compat.v1.contrib import lookup as lookup
from pipeline.compat.v1.contrib import staging as staging
from pipeline.compat.v1.contrib import training as training
