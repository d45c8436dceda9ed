"""RED: S. Floyd and V. Jacobson, IEEE/ACM Transactions on Networking 1(4), 1993. Figs. 3, 5, 7 to 9, 12 to 16.

`network` is what the paper's networks share, `average` measures single packets: eq. (1) and max_th.
"""

from __future__ import annotations

from ...reproduce import Choice, Paper, Settings
from ...reproduce.claim import Verdict


PAPER = Paper(
    name="red1993",
    title="RED 1993, reproduced",
    citation="S. Floyd and V. Jacobson, Random Early Detection Gateways for Congestion Avoidance, IEEE/ACM Transactions "
    "on Networking 1(4) (1993). Figures 3, 5, 7 to 9 and 12 to 16.",
    short=Settings(seeds=tuple(range(1, 21)), duration_s=10, warmup_s=0, sample_s=1),
    full=Settings(seeds=tuple(range(1, 101)), duration_s=10, warmup_s=0, sample_s=1),
    scenario="red1993_fig3",
)
