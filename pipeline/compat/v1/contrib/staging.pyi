"""Made by tests/support/compat_stub.py from pipeline/compat/names.py."""

from pipeline.compat.areas.staging import MapStagingArea as MapStagingArea, StagingArea as StagingArea
