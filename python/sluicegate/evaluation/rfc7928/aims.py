"""The targets given to disciplines: a delay, as a time or as the length of a queue that takes this time to send."""

from __future__ import annotations

from dataclasses import dataclass

from ...experiments.engine import Sets
from ...papers.disciplines.workloads import Workload
from ..suite import LINK

TIMED = ("codel", "fq_codel", "pie", "fq_pie", "docsis_pie", "dualpi2", "l4s_step", "cake")
"""The disciplines whose `target` is a time."""


@dataclass(frozen=True)
class Aimed(Workload):
    """A link whose discipline is to keep `aim_ms`: as a time, or as the length that takes it on the link."""

    aim_ms: float = 0.0

    def tuned(self) -> Sets:
        """The overrides of `Workload`, and the targets that are times."""
        aim = f"{self.aim_ms:g} ms"
        times = {f"queue.{name}.target": aim for name in TIMED} | {"queue.ared.target_delay": aim}
        return (*super().tuned(), *times.items())


def aimed(aim_ms: float) -> Aimed:
    """The link of the suite with an aim: a packet of 1500 bytes takes 1.2 ms."""
    queue = max(2, round(aim_ms / 1.2))
    return Aimed("", LINK.rate, queue, LINK.limit, LINK.rtt, LINK.flows, aim_ms=aim_ms)
