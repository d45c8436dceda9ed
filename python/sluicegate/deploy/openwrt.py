"""The disciplines of Linux for which OpenWrt's package sqm-scripts has scripts."""

from __future__ import annotations

from .linux import lines

__all__ = ["SCRIPTS", "deployable", "lines"]

SCRIPTS = {"cake": "layer_cake.qos", "fq_codel": "simplest.qos"}
"""The scripts that make a queue of a discipline."""


def deployable(discipline: str) -> bool:
    """Whether a discipline has a script."""
    return discipline in SCRIPTS
