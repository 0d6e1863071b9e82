"""Coordinator and LooperThread, which know nothing of graphs: the native ones."""

from pipeline.coordinator import Coordinator as Coordinator
from pipeline.coordinator import LooperThread as LooperThread
