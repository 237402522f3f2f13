"""Scores by how much is used: the curve that the arguments of plugins draw by a few points.

NodeResourcesFit and VolumeBinding share it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import msgspec
import numpy as np

from stowplan.config.errors import invalid, required
from stowplan.framework.contract import MAX_SCORE
from stowplan.model.meta import Int32
from stowplan.table.columns import Scores

MAX_UTILIZATION: Final = 100
_MAX_HEIGHT: Final = 10
_UNIT: Final = MAX_SCORE // _MAX_HEIGHT


class UtilizationShapePoint(msgspec.Struct, frozen=True, rename="camel"):
    """One corner of a score curve: at `utilization` percent the score is `score` of 10."""

    #: Percent of a node that is used; 0 to 100.
    utilization: Int32 = 0
    #: What that is worth; 0 to 10.
    score: Int32 = 0


def curve_of(shape: Sequence[UtilizationShapePoint]) -> Scores:
    """Return the score by used percentage: lines from point to point, level before the first and after the last."""
    return np.array([_height(shape, percent) for percent in range(MAX_UTILIZATION + 1)], dtype=np.int64)


def _height(shape: Sequence[UtilizationShapePoint], percent: int) -> int:
    if percent <= shape[0].utilization:
        return shape[0].score * _UNIT
    for left, right in pairwise(shape):
        if percent <= right.utilization:
            climb = (right.score - left.score) * _UNIT * (percent - left.utilization)
            # Cut towards zero, also where the curve falls.
            return left.score * _UNIT + int(climb / (right.utilization - left.utilization))
    return shape[-1].score * _UNIT


def shape_faults(path: str, shape: Sequence[UtilizationShapePoint]) -> list[str]:
    """Find what is wrong with a curve."""
    if not shape:
        return [required(path, "at least one point must be specified")]
    faults: list[str] = []
    for index, (left, right) in enumerate(pairwise(shape), start=1):
        if left.utilization >= right.utilization:
            where = f"{path}[{index}].utilization"
            faults.append(invalid(where, right.utilization, "values must be sorted in increasing order"))
            break
    for index, point in enumerate(shape):
        if not 0 <= point.utilization <= MAX_UTILIZATION:
            faults.append(invalid(f"{path}[{index}].utilization", point.utilization, "not in valid range [0, 100]"))
        if not 0 <= point.score <= _MAX_HEIGHT:
            faults.append(invalid(f"{path}[{index}].score", point.score, "not in valid range [0, 10]"))
    return faults
