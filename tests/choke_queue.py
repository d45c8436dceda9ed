"""CHOKe's queue packet by packet, to hold the model to: Poisson arrivals at given rates, a link that never rests.

Not the simulator: no TCP, no average; RED's probability is taken at the queue's length. So every assumption of the
model but mean values and independence is in it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sluicegate.theory.choke import Equilibrium

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Measured:
    """Batches of a run, one row each. By class of flows: their share of the link, their share of the queue, the loss of
    what arrived. And the backlog."""

    share: Array
    phi: Array
    lost: Array
    b: Array

    def off(self, values: Array, model: Array, slack: float) -> float:
        """How far the model's values are from the mean over batches: in multiples of four standard errors and `slack`
        (relative), whichever classes are farthest. Below 1: they agree."""
        mean, error = values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(len(values))
        return float(np.max(abs(model - mean) / (4 * error + slack * abs(model))))


def run(eq: Equilibrium, *, packets: int, seed: int, batches: int = 20) -> Measured:
    """Let `packets` packets leave, after a tenth as many, at the source rates of the equilibrium and its g."""
    random = np.random.default_rng(seed)
    classes = np.repeat(np.arange(len(eq.flows)), [int(flow.count) for flow in eq.flows])
    rates = np.array([eq.flows[k].x for k in classes])
    count, m = len(eq.flows), eq.m
    queue = random.choice(len(rates), size=round(eq.b), p=np.array([eq.flows[k].phi for k in classes]) / sum(
        eq.flows[k].phi for k in classes)).tolist()  # fmt: skip
    most = 4 * round(eq.b) + 100
    drop = np.asarray(eq.g(np.arange(most, dtype=float), np.full(most, eq.tau))).tolist()
    sums = np.zeros((batches, 3, count))
    backlog = np.zeros(batches)
    warm = packets // 10
    for batch in range(-1, batches):
        slots = warm if batch < 0 else packets // batches
        arrivals = random.poisson(rates.sum() / eq.c, size=slots).tolist()
        total = sum(arrivals)
        flows = random.choice(len(rates), size=total, p=rates / rates.sum()).tolist()
        draws = random.random((total, m)).tolist()
        coins = random.random(total).tolist()
        came, left, queued, length, next_ = [0] * len(rates), [0] * len(rates), np.zeros(len(rates)), 0.0, 0
        for slot, new in enumerate(arrivals):
            for _ in range(new):
                flow = flows[next_]
                came[flow] += 1
                size = len(queue)
                hit = {i for i in (int(u * size) for u in draws[next_]) if queue[i] == flow} if size else None
                if hit:
                    for place in sorted(hit, reverse=True):
                        del queue[place]
                elif coins[next_] >= drop[size]:
                    queue.append(flow)
                next_ += 1
            if queue:
                left[queue.pop(0)] += 1
            length += len(queue)
            if slot % 50 == 0:
                queued += np.bincount(queue, minlength=len(rates))
        if batch < 0:
            continue
        by_class = [np.bincount(classes, weights=values, minlength=count) for values in (came, left, queued)]
        of_class = np.bincount(classes, minlength=count)
        sums[batch] = by_class[1] / slots, by_class[2] / queued.sum(), 1 - by_class[1] / by_class[0]
        sums[batch, :2] /= of_class
        backlog[batch] = length / slots
    return Measured(sums[:, 0], sums[:, 1], sums[:, 2], backlog)


def model(eq: Equilibrium) -> tuple[Array, Array, Array]:
    """What the equilibrium says of one flow of each class: share of the link, of the queue, loss."""
    return tuple(np.array([getattr(flow, name) for flow in eq.flows]) for name in ("share", "phi", "p"))  # type: ignore[return-value]
