"""Which boxes to keep of many that overlap."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.kernels import image_boxes as kernels
from pipeline.compat.kernels.errors import bad
from pipeline.compat.ops.images.boxes import must_be, one_of_two, size_along
from pipeline.compat.ops.making.opdef import check_rank, op, tensor_op
from pipeline.compat.ops.making.text import shown
from pipeline.compat.values.convert import convert_to_tensor


def _check_suppression(scores: Any, count: Any, share: Any) -> None:
    if np.ndim(count) or np.ndim(share):
        raise bad("max_output_size and iou_threshold must be 0-D")
    if not 0 <= share <= 1:
        raise bad("iou_threshold must be in [0, 1]")
    if count < 0:
        raise bad("max_output_size must be non-negative")
    if np.ndim(scores) != 1:
        raise bad(f"scores must be 1-D{shown(np.shape(scores))}")


def _boxes_rule(boxes: Tensor, scores: Tensor, *scalars: Tensor) -> None:
    one_of_two(size_along(boxes, 0, 2), size_along(scores, 0, 1))
    must_be(size_along(boxes, 1, 2), 4)
    for each in scalars:
        check_rank(each, 0)


def non_max_suppression(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    name: str | None = None,
) -> Tensor:
    """Return the indices of the boxes of the highest scores, without those that overlap a better one too much.

    Args:
        boxes: float16 or float32 [boxes, 4]: the coordinates y, x of two opposite corners.
        scores: The same dtype, [boxes].
        max_output_size: An int32 scalar.
        iou_threshold: The largest intersection over union that is not too much.
        score_threshold: Only boxes of a higher score are taken.
        name: Name of the scope.

    Returns:
        int32, of a size that is not known.
    """

    def rule(*tensors: Tensor) -> Any:
        _boxes_rule(*tensors)
        return [None]

    def kernel(boxes: Any, scores: Any, count: Any, share: Any, least: Any) -> Any:
        _check_suppression(scores, count, share)
        return kernels.suppress(boxes, scores, int(count), share, least)

    with name_scope(name, "non_max_suppression"):
        share = convert_to_tensor(iou_threshold, name="iou_threshold")
        least = convert_to_tensor(score_threshold, name="score_threshold")
        floats = "(float16,float32)=float32"
        definition = f"boxes:T{floats} scores:T max_output_size:int32 iou_threshold:T_threshold{floats}"
        definition += " score_threshold:T_threshold"
        values = [boxes, scores, max_output_size, share, least]
        return tensor_op("NonMaxSuppressionV3", definition, values, rule, kernel, dtype=dtypes.int32)


def non_max_suppression_with_scores(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    soft_nms_sigma: Any = 0.0,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """As `non_max_suppression`; returns the scores too, which a `soft_nms_sigma` above 0 lowers where boxes overlap."""

    def rule(*tensors: Tensor) -> Any:
        _boxes_rule(*tensors)
        return [(dtypes.int32, [None]), (tensors[0].dtype.base_dtype, [None]), (dtypes.int32, [])]

    def kernel(boxes: Any, scores: Any, count: Any, share: Any, least: Any, sigma: Any) -> Any:
        _check_suppression(scores, count, share)
        if np.ndim(sigma) or not sigma >= 0:
            raise bad("soft_nms_sigma must be a scalar of at least 0.0")
        chosen, final = kernels.suppress_softly(boxes, scores, int(count), share, least, sigma)
        return chosen, final, np.int32(len(chosen))

    with name_scope(name, "non_max_suppression_with_scores"):
        share = convert_to_tensor(iou_threshold, name="iou_threshold")
        least = convert_to_tensor(score_threshold, name="score_threshold")
        sigma = convert_to_tensor(soft_nms_sigma, name="soft_nms_sigma")
        definition = "boxes:T(float16,float32)=float32 scores:T max_output_size:int32 iou_threshold:T"
        definition += " score_threshold:T soft_nms_sigma:T"
        values = [boxes, scores, max_output_size, share, least, sigma]
        attrs = {"pad_to_max_output_size": False}
        made = op("NonMaxSuppressionV5", definition, values, rule, kernel, attrs=attrs).outputs
        return made[0], made[1]


def non_max_suppression_overlaps(
    overlaps: Any,
    scores: Any,
    max_output_size: Any,
    overlap_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    name: str | None = None,
) -> Tensor:
    """As `non_max_suppression`, with how much each pair of boxes overlaps given: float32 [boxes, boxes]."""

    def rule(overlaps: Tensor, scores: Tensor, *scalars: Tensor) -> Any:
        count = one_of_two(size_along(overlaps, 0, 2), size_along(scores, 0, 1))
        one_of_two(count, size_along(overlaps, 1, 2))
        for each in scalars:
            check_rank(each, 0)
        return [None]

    def kernel(overlaps: Any, scores: Any, count: Any, share: Any, least: Any) -> Any:
        if overlaps.ndim != 2 or overlaps.shape[0] != overlaps.shape[1]:
            raise bad(f"overlaps must be square{shown(overlaps.shape)}")
        if scores.shape != overlaps.shape[:1] or count < 0:
            raise bad("scores has incompatible shape, or max_output_size is negative")
        return kernels.suppress(None, scores, int(count), share, least, overlaps)

    with name_scope(name, "non_max_suppression_overlaps"):
        share = convert_to_tensor(overlap_threshold, name="overlap_threshold")
        definition = "overlaps:float32 scores:float32 max_output_size:int32"
        definition += " overlap_threshold:float32 score_threshold:float32"
        values = [overlaps, scores, max_output_size, share, score_threshold]
        return tensor_op("NonMaxSuppressionWithOverlaps", definition, values, rule, kernel, dtype=dtypes.int32)
