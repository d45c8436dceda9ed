"""Why a model has no equilibrium to give. All are ValueErrors; the message says what would fix it."""

from __future__ import annotations


class ChokeError(ValueError):
    """The model cannot answer for these values."""


class InactiveError(ChokeError):
    """CHOKe would not stay active: with its drops at min_th, TCP sends too little to keep the queue there."""


class AboveMaxThError(ChokeError):
    """The equilibrium would lie above max_th, where CHOKe compares nothing and the paper's model ends (Sec. VI)."""


class AssumptionError(ChokeError):
    """One of the paper's assumptions A1 to A4 does not hold for the functions given.

    `assumption`: "A1" (one solution), "A2" (it is differentiable in x_0), "A3" (f) or "A4" (g).
    """

    def __init__(self, assumption: str, message: str) -> None:
        super().__init__(f"assumption {assumption} fails: {message}")
        self.assumption = assumption
