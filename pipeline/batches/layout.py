"""The layout of examples, which the first one decides: container, and dtype and shape of each component."""

from __future__ import annotations

import copy
import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pipeline.batches.finish import Finish
from pipeline.batches.iterables import check_example
from pipeline.batches.ragged import RaggedRows, kinds_of
from pipeline.nest import ListValue, Nest, has_nested, maker_of
from pipeline.queues.base import QueueBase
from pipeline.queues.values import infer

ToComponents = Callable[[Any], Sequence[Any]]  # takes an example apart


class ExampleLayout:
    """The layout of examples, learnt from the first one; takes examples apart and puts batches together.

    Args:
        example: The first example: a dict, list or tuple of components, which may be nested, or a single component.
        many: It is a block of examples: the first dimension of each component counts them.
        finish: What is done to each component of a batch.

    Raises:
        ValueError: The example has no components.
        InvalidArgumentError: `ragged` names a component that there is not.
        TypeError: It is itself a source of examples.

    Attributes:
        to_components: Called with an example, returns its components in the order of the queue; ValueError if its keys
            or number of components differ from the first one.
        dtypes: The dtype of each component.
        bare: An example is a component, in no container.
        whole: A batch that the queue gives is one of examples, as it is.
        tuple_length: The number of components if examples are tuples or lists of them, else 0.
    """

    to_components: ToComponents
    _first_labels: Sequence[str] = ()
    _last_labels: Sequence[str] = ()

    def __init__(self, example: Any, many: bool, finish: Finish | None = None) -> None:
        check_example(example, many)
        self._finish = finish
        self._keys: list[Any] | None = None
        self._count = 1
        self._apart: ToComponents = _itself  # as `to_components`, but rows that vary in length are as they come
        self._pick: ToComponents = _itself
        self._nest: Nest | None = None
        self._kind = type(example)
        self._make = maker_of(self._kind)
        if has_nested(example, many):
            self._nest = nest = Nest(example, many)
            self._keys, self._count = list(nest.names), len(nest.names)
            self._apart = nest.flatten
        elif isinstance(example, dict):
            self._keys = sorted(example, key=str)
            self._key_set = set(self._keys)
            # C makes a tuple of the values, or of one its value.
            self._pick = operator.itemgetter(*self._keys) if len(self._keys) > 1 else self._single
            self._apart = self._of_dict
            self._count = len(example)
        elif isinstance(example, (list, tuple)) and not isinstance(example, ListValue):
            self._apart = self._of_list
            self._count = len(example)
        components = self._apart(example)
        if not components:
            raise ValueError("Expected at least one tensor in batch(): the example is empty")
        inferred = [_infer(component, many, self._where(i)) for i, component in enumerate(components)]
        self._inferred = [dtype for dtype, _ in inferred]
        self._shapes = [shape for _, shape in inferred]
        self._find_ragged(many)
        self.dtypes = [np.dtype(object) if i in self._ragged else dtype for i, dtype in enumerate(self._inferred)]
        self._strings = [] if finish is None or finish.checked or finish.encoding is None else self._of_strings()
        self.to_components = self._as_held(self._apart, many)
        self._with_objects(self._apart, many)(example)  # the first example decides what the rows are
        self.bare = self.to_components is _itself
        flat = self._apart == self._of_list and self._nest is None and not (self._ragged or self._strings)
        self.tuple_length = self._count if flat else 0
        # A list of components is what the queue gives, and of a single one its batch.
        alone = self._count == 1 and (self._apart is _itself or (flat and not hasattr(self._kind, "_make")))
        self.whole = finish is None and (alone or (flat and self._make is list))

    def _find_ragged(self, many: bool) -> None:
        """Find the components whose rows vary in length, which are objects in the queue."""
        names = list(getattr(self._kind, "_fields", range(self._count))) if self._keys is None else self._keys
        self._kinds: list[str | None] = [None] * self._count
        self._ragged: dict[int, RaggedRows] = {}
        if self._finish is not None:
            each = not many or not self._finish.many
            self._kinds, found = kinds_of(self._finish, names, each, self._shapes)
            for i in found:
                where = f"batch: component {self._name(i)}"
                self._ragged[i], self._shapes[i] = (
                    RaggedRows(i, where, functools.partial(_infer, many=False, where=where)),
                    (),
                )

    def _of_strings(self) -> list[int]:
        """The components that are strings, or may hold some."""
        return [i for i, dtype in enumerate(self._inferred) if np.dtype(dtype).kind in "SO"]

    def _as_held(self, apart: ToComponents, many: bool) -> ToComponents:
        """Take examples, or blocks, apart, check their strings, and make objects of the rows that vary in length."""
        made = self._with_objects(apart, many)
        if not self._strings:
            return made

        def to_components(example: Any) -> Sequence[Any]:
            components = made(example)
            for i in self._strings:
                self._finish.check_strings(components[i], self._name(i), many)  # type: ignore[union-attr]
            return components

        return to_components

    def _with_objects(self, apart: ToComponents, many: bool) -> ToComponents:
        """Take examples, or blocks, apart, and make objects of the rows that vary in length."""
        if not self._ragged:
            return apart

        def to_components(example: Any) -> Sequence[Any]:
            components = list(apart(example))
            for i, rows in self._ragged.items():
                components[i] = rows.many(components[i]) if many else rows.one(components[i])
            return components

        return to_components

    def joined(self, index: int, many: bool) -> ToComponents:
        """`to_components` for one source of a join, whose first example it checks against this layout.

        Args:
            index: The number of the source, for error texts.
            many: The source gives blocks.

        Raises (when called with an example):
            ValueError: Other keys, or fewer components, than those of the first source.
            TypeError: A component of another dtype.
        """
        chosen: ToComponents | None = None

        def to_components(example: Any) -> Sequence[Any]:
            nonlocal chosen
            if chosen is None:
                chosen = self._joined(example, index, many)
            return chosen(example)

        return to_components

    def _joined(self, example: Any, index: int, many: bool) -> ToComponents:
        chosen = self._apart
        if self._nest is not None:
            pass  # `flatten` checks each example
        elif self._keys is not None:
            if not isinstance(example, dict) or example.keys() != self._key_set:
                raise ValueError(
                    "All dictionaries in tensors_list must have the same keys: "
                    f"source {index} gave {_form(example)}, another one {self._keys}"
                )
        else:
            chosen = self._of_source(example, index)
        for i, (component, dtype) in enumerate(zip(chosen(example), self._inferred, strict=True)):
            # The queue converts plain Python values, or raises.
            if hasattr(component, "dtype"):
                other, _ = _infer(component, many, self._where(i))
                if other != dtype:
                    raise TypeError(
                        f"Expected types to be consistent: component {self._name(i)} of source {index} is {other}, "
                        f"another one's is {dtype}"
                    )
        return self._as_held(chosen, many)

    def _of_source(self, example: Any, index: int) -> ToComponents:
        """How to take the examples of another source apart, if examples are not dicts."""
        listed = isinstance(example, (list, tuple))
        if listed and self._apart == self._of_list:
            return self._first_of_list
        if self._count == 1 and not isinstance(example, dict) and (not listed or len(example) == 1):
            return self._first_of_list if listed else _itself
        raise ValueError(
            f"all sources must give examples of one form: source {index} gave {_form(example)}, "
            f"another one {'a single component' if self._apart is _itself else f'{self._count} components'}"
        )

    def _of_dict(self, example: Any) -> Sequence[Any]:
        if type(example) is not dict or len(example) != self._count:
            self._check_keys(example)
        try:
            return self._pick(example)
        except KeyError:
            self._check_keys(example)
            raise

    def _check_keys(self, example: Any) -> None:
        if not isinstance(example, dict) or example.keys() != self._key_set:
            got = sorted(example, key=str) if isinstance(example, dict) else type(example).__name__
            raise ValueError(f"every example must have the keys of the first one, {self._keys}; got {got}")

    def _single(self, example: Any) -> Sequence[Any]:
        return [example[key] for key in self._key_set]

    def _of_list(self, example: Any) -> Sequence[Any]:
        if not isinstance(example, (list, tuple)) or len(example) != self._count:
            got = f"{len(example)} of them" if isinstance(example, (list, tuple)) else type(example).__name__
            raise ValueError(f"every example must be a list or tuple of {self._count} components; got {got}")
        return example

    def _first_of_list(self, example: Any) -> Sequence[Any]:
        """The components that the first source has too; a later one's further components are dropped."""
        if not isinstance(example, (list, tuple)) or len(example) < self._count:
            got = f"{len(example)} of them" if isinstance(example, (list, tuple)) else type(example).__name__
            raise ValueError(f"every source must give at least the {self._count} components of the first; got {got}")
        return example[: self._count] if len(example) > self._count else example

    def _name(self, index: int) -> str:
        return str(index) if self._keys is None else repr(self._keys[index])

    def _where(self, index: int) -> str:
        return f"batch: component {self._name(index)} of the first example"

    def rebuild(self, batch: Any) -> Any:
        """Put a batch that the queue gave into the container of the examples. The only one of a flat list comes
        bare, and so does that of a tuple."""
        if self.whole:
            return batch
        components = batch if self._count > 1 else [batch]
        if self._finish is not None:
            finish = self._finish.component
            components = [finish(*each) for each in zip(components, self._kinds, strict=True)]
        if self._apart is _itself:
            return components[0]
        if self._nest is not None:
            return self._nest.pack(components)
        if self._keys is not None:
            return dict(zip(self._keys, components, strict=True))
        if self._count == 1 and not hasattr(self._kind, "_make"):
            return components[0]
        return self._make(components)

    @property
    def labels(self) -> list[Any] | None:
        """What errors call the components of the queue, where examples are dicts or nested."""
        return None if self._keys is None else [*self._first_labels, *self._keys, *self._last_labels]

    def led_by(self, dtype: Any) -> ExampleLayout:
        """The layout for a queue that holds a scalar of this dtype before the components."""
        other = copy.copy(self)
        other.dtypes, other._shapes = [dtype, *self.dtypes], [(), *self._shapes]
        other._first_labels = ["the length"]
        return other

    def followed_by(self, dtype: Any) -> ExampleLayout:
        """The layout for a queue that holds a scalar of this dtype after the components."""
        other = copy.copy(self)
        other.dtypes, other._shapes = [*self.dtypes, dtype], [*self._shapes, ()]
        other._last_labels = ["the number"]
        return other

    def shape_as(self, facts: Sequence[Any] | None) -> None:
        """Expect the shapes of a saved layout, if it has as many components."""
        if facts is not None and len(facts) == len(self._shapes):
            self._shapes = [tuple(shape) if shape is not None else () for _, shape in facts]

    @property
    def example_bytes(self) -> int:
        """The bytes of an example like the first, about."""
        return sum(
            256
            if np.dtype(dtype).hasobject
            else max(1, np.dtype(dtype).itemsize) * math.prod(size or 1 for size in shape)
            for dtype, shape in zip(self.dtypes, self._shapes, strict=True)
        )

    def fixed_shapes(self, given: Sequence[Any] | None) -> Any:
        """The shapes for a queue without padding: those given, or those of the first example."""
        return self._shapes if given is None else given

    def padded_shapes(self, given: Sequence[Any] | None) -> Any:
        """The shapes for a padding queue: those given, or shapes that may vary in every dimension."""
        return [(None,) * len(shape) for shape in self._shapes] if given is None else given


def _itself(example: Any) -> Sequence[Any]:
    return (example,)


def _form(example: Any) -> str:
    if isinstance(example, dict):
        return str(sorted(example, key=str))
    if isinstance(example, (list, tuple)):
        return f"{len(example)} components"
    return f"a single {type(example).__name__}"


def _infer(component: Any, many: bool, where: str) -> tuple[Any, tuple[int | None, ...]]:
    dtype, shape = infer(component, many, where)
    if isinstance(component, np.ndarray) and dtype.hasobject and component.size:
        # Columns of strings come as object arrays.
        shape = component.shape[1:] if many else component.shape
        if all(isinstance(value, (bytes, str)) for value in component.flat):
            dtype = np.dtype("S")
    return dtype, shape or ()


def facts_of_queue(queue: QueueBase) -> list[Any]:
    """Dtype and shape of each component of a queue."""
    pairs = zip(queue.dtypes, queue.shapes, strict=True)
    return [[dtype.name, None if shape is None else list(shape)] for dtype, shape in pairs]
