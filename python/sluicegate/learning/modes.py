"""The most frequent of many values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

ALIKE = 0.01
"""Values that differ by a smaller part are alike."""


def mode(values: NDArray[np.floating]) -> float:
    """The most frequent of these positive values: the median of those that are alike."""
    bins, counts = np.unique(np.round(np.log(values) / ALIKE), return_counts=True)
    near = np.abs(np.log(values) / ALIKE - bins[np.argmax(counts)]) < 1
    return float(np.median(values[near]))
