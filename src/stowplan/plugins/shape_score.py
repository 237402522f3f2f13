"""Scores by how much is used: the curve that the arguments of plugins draw by a few points."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import numpy as np

from stowplan.config.arguments import UtilizationShapePoint
from stowplan.framework.contract import MAX_SCORE
from stowplan.table.columns import Scores

MAX_UTILIZATION: Final = 100
# Heights are written from 0 to 10.
_UNIT: Final = MAX_SCORE // 10


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
