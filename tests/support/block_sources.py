"""Sources with blocks of examples."""

import threading

from orchestration import out_of_range


class Blocks:
    """A source with blocks: array rows."""

    def __init__(self, *arrays):
        self.arrays = arrays
        self.asked = []
        self._at = 0
        self._lock = threading.Lock()

    def block(self, n):
        with self._lock:
            self.asked.append(n)
            begin = self._at
            end = self._at = min(begin + n, len(self.arrays[0]))
        if begin == end:
            raise out_of_range()
        return [array[begin:end] for array in self.arrays]


class CallableBlocks(Blocks):
    def __call__(self):
        return [part[0] for part in self.block(1)]
