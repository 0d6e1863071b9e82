"""finish: what becomes of strings and of rows of varying length when a batch is handed out."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline._batch import concatenate, pad
from pipeline.dtypes import object_vector
from pipeline.on_error import set_on
from pipeline.sources.strings import row_of_wrong, told, wrong_string

_KINDS = ("pad", "row_splits")


class Finish(NamedTuple):
    """What is done to the components of a batch.

    Attributes:
        ragged: What becomes of a component whose rows are arrays: "pad" or "row_splits", or that by name, or by number
            where components have none; None leaves them.
        encoding: Of bytes, which become str; None leaves them.
        varies: Arrays of examples that come one by one may vary in length, unless shapes say otherwise.
        many: Blocks are blocks as a source gives them, and not examples that a function made one by one.
        checked: The sources have checked that strings are of the encoding.
    """

    ragged: str | Mapping[Any, str] | None
    encoding: str | None
    varies: bool = True
    many: bool = True
    checked: bool = False

    def check(self) -> None:
        """Raise ValueError for a `ragged` or an encoding that there is none, TypeError for one that is not a str."""
        for kind in self.ragged.values() if isinstance(self.ragged, Mapping) else [self.ragged]:
            if kind not in _KINDS and (kind is not None or isinstance(self.ragged, Mapping)):
                raise ValueError(f"ragged must be 'pad', 'row_splits', a dict of these, or None, got {kind!r:.80}")
        if self.encoding is not None:
            if not isinstance(self.encoding, str):
                raise TypeError(f"encoding must be the name of one, such as 'utf-8', got {self.encoding!r:.80}")
            try:
                codecs.lookup(self.encoding)
            except LookupError:
                raise ValueError(f"encoding: there is no {self.encoding!r:.80}") from None

    def component(self, component: Any, kind: str | None) -> Any:
        """A component as it is handed out; `kind` is what becomes of rows that are arrays."""
        if kind is None or not holds_arrays(component):
            return component if self.encoding is None else self._decoded(component)
        rows = _alike(component.tolist())
        if self.encoding is not None:
            rows = [self._decoded(row) for row in rows]
        if kind == "pad":
            return pad(rows, next((type(row.flat[0])() for row in rows if _holds_strings(row)), 0))
        splits = np.zeros(len(rows) + 1, np.int64)
        np.cumsum([len(row) for row in rows], out=splits[1:])
        return concatenate(rows), splits

    def check_strings(self, component: Any, name: str, many: bool) -> None:
        """Raise UnicodeDecodeError for a string of an example, or of a block, that is not of the encoding.

        Here they are on their way in, where the error can still name the record, or `on_error="skip"` leave it out.
        """
        assert self.encoding is not None
        error = wrong_string(component, self.encoding)
        if error is None:
            return
        if many:
            set_on(error, "record", row_of_wrong(component, self.encoding))
        raise told(error, f"in component {name}")

    def _decoded(self, array: Any) -> Any:
        """An array of strings, which may be one row of a component, decoded; any other array as it is."""
        assert self.encoding is not None
        if not _holds_strings(array):
            return array
        texts = [each.decode(self.encoding) if isinstance(each, bytes) else each for each in array.reshape(-1).tolist()]
        return object_vector(texts).reshape(array.shape)


def holds_arrays(component: Any) -> bool:
    """Whether the rows of a component are arrays."""
    if not component.dtype.hasobject or component.ndim != 1 or not len(component):
        return False
    return isinstance(component[0], np.ndarray)


def _alike(rows: list[NDArray[Any]]) -> list[NDArray[Any]]:
    """The rows, those of empty lists with the dtype of the others."""
    dtype = next((row.dtype for row in rows if row.size), rows[0].dtype)
    return [row if row.size or row.dtype == dtype else row.astype(dtype) for row in rows]


def _holds_strings(array: NDArray[Any]) -> bool:
    return array.dtype.hasobject and array.size > 0 and isinstance(array.flat[0], (bytes, str))
