"""A root for each element of an array at once.

SciPy's elementwise root finder drops the elements that are done from the arguments of later calls. Here a function may
hold arrays of its own, one value for each problem, so that thousands of them are solved together: every call gets all.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

MOST = 200
"""Iterations at most: bisection alone needs some 60 for a full mantissa."""


def root(
    function: Callable[[Array], Array], low: Array, high: Array, at_low: Array, at_high: Array, *, tolerance: float
) -> Array:
    """Where `function` changes its sign between `low` and `high`, for each element (Chandrupatla 1997).

    `at_low`, `at_high`: its values there, which may be infinite. Where they have the same sign, the end with the value
    nearer to zero. `tolerance`: of the root, absolute, and four times that of the function; never finer than the
    arithmetic.
    """
    a, b, f_a, f_b = (np.array(each, dtype=float) for each in np.broadcast_arrays(low, high, at_low, at_high))
    c, f_c = a.copy(), f_a.copy()
    apart = np.sign(f_a) * np.sign(f_b) < 0
    t = np.full(a.shape, 0.5)
    best, f_best = np.where(abs(f_a) < abs(f_b), a, b), np.where(abs(f_a) < abs(f_b), f_a, f_b)
    running = apart.copy()
    for _ in range(MOST):
        if not running.any():
            break
        x = np.where(running, a + t * (b - a), best)
        f_x = function(x)
        same = np.sign(f_x) == np.sign(f_a)
        c, f_c = np.where(same, a, b), np.where(same, f_a, f_b)
        b, f_b = np.where(same, b, a), np.where(same, f_b, f_a)
        a, f_a = x, f_x
        nearer = abs(f_a) < abs(f_b)
        now, f_now = np.where(nearer, a, b), np.where(nearer, f_a, f_b)
        best, f_best = np.where(running, now, best), np.where(running, f_now, f_best)
        reach = np.maximum(tolerance, 2 * np.finfo(float).eps * abs(best))
        width = abs(b - a)
        running &= (width > reach) & (abs(f_best) > tolerance / 4)
        xi, phi = (a - b) / (c - b), (f_a - f_b) / (f_c - f_b)
        inverse = (phi**2 < xi) & ((1 - phi) ** 2 < 1 - xi)
        quadratic = f_a / (f_b - f_a) * f_c / (f_b - f_c) + (c - a) / (b - a) * f_a / (f_c - f_a) * f_b / (f_c - f_b)
        t = np.where(inverse & np.isfinite(quadratic), quadratic, 0.5)
        edge = np.minimum(0.5 * reach / np.where(width > 0, width, 1.0), 0.5)
        t = np.clip(t, edge, 1 - edge)
    return best


def spread(
    function: Callable[[Array], Array], start: Array, *, most: float, factor: float = 1.0
) -> tuple[Array, Array, Array, Array]:
    """Ends between which a falling `function` changes its sign, and its values there, searched from `start`.

    The first step is `factor` times the function's value: with 1 it is enough when the function falls by one or more
    for each step of one. `most`: how far from `start` the search goes, at most.
    """
    here = function(start)
    step = np.clip(factor * np.where(np.isnan(here), 0.0, here), -5.0, 5.0)
    near, f_near, there = start, here, start + step
    f_there = function(there)
    while True:
        beyond = (np.sign(f_there) == np.sign(here)) & (here != 0) & (abs(there - start) < most)
        if not beyond.any():
            return near, there, f_near, f_there
        near, f_near = np.where(beyond, there, near), np.where(beyond, f_there, f_near)
        step = np.where(beyond, 2 * step, step)
        there = np.where(beyond, there + step, there)
        f_there = np.where(beyond, function(there), f_there)


def check(name: str, value: object, right: object, rule: str) -> None:
    """Raise ValueError unless all of `value` is right; NaN and infinity never are."""
    values = np.asarray(value, dtype=float)
    fine = np.asarray(right) & np.isfinite(values)
    if not fine.all():
        wrong = float(values[~fine].flat[0]) if fine.shape == values.shape else float("nan")
        raise ValueError(f"{name} = {wrong:g}: {rule}")
