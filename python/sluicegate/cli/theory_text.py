"""What `sluicegate theory choke` and `theory candidates` print."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..theory import choke
from ..theory.choke_curve import ChokeTheory
from .common import number, print_table

ROWS = 13
"""So many points of a curve are printed; all are in curve.parquet and in the JSON."""

NAMES = {
    "reno": "Reno, eq. (43)",
    "simple": "Reno, √(2/p)/(d + τ)",
    "padhye": "Reno with timeouts",
    "vegas": "Vegas",
}


def show(done: ChokeTheory, out: Path | None) -> None:
    """Print some points of the curve, the peak, and how far the model can be trusted there."""
    count = len(done.udp_bps)
    picked = sorted({*np.linspace(0, count - 1, min(count, ROWS)).round().astype(int).tolist(), done.peak})
    unit, factor = ("Mbit/s", 1e6) if done.rate_bps >= 10**8 else ("kbit/s", 1e3)
    header = [
        f"UDP {unit}",
        "share %",
        "approx. %",
        f"per TCP {unit}",
        "queue",
        "delay ms",
        "UDP of queue %",
        "TCP loss %",
    ]
    print_table(header, [cells(done, index, factor) for index in picked])
    rows = done.rows()
    udp = "UDP" if done.udp == 1 else f"{done.udp} UDP flows"
    print(
        f"{done.tcp} TCP flows ({NAMES[done.law]}), {udp}, {number(done.rate_bps, factor)} {unit} or "
        f"{done.c:.4g} packets/s; queue in packets"
    )
    print(_peak(done), _limit(done), sep="")
    # The estimate is of one UDP flow, one candidate, and TCP flows whose rate falls with the root of their losses.
    if done.udp == done.candidates == 1 and done.law != "vegas" and done.tcp < 2 * done.least_flows:
        print(
            f"warning: CHOKe needs about {number(done.least_flows)} TCP flows to stay active here (Sec. VI); near that "
            f"number the queue swings around min_th and the model, a steady state, is rough"
        )
    if any((row["held_loss_ratio"] or 0) for row in rows):
        print(
            "warning: * the queue is held at max_th: arrivals are dropped there before any comparison, which the "
            "paper's model does not cover. A larger max_th or max_p would bring it below"
        )
    if refused := [row for row in rows if row["refusal"]]:
        print(f"warning: {len(refused)} of {count} points have no answer; the first: {refused[0]['refusal']}")
    if out is not None:
        print(f"results in {out}")


def _peak(done: ChokeTheory) -> str:
    """Where UDP has most, if that is known: it takes three points."""
    solved = [index for index, refusal in enumerate(done.curve.refusals) if refusal is None]
    if len(done.udp_bps) == 1:
        return ""
    if len(solved) < 3:
        return (
            f"the model has an answer at {len(solved)} of {len(done.udp_bps)} rates, too few to say where the peak is; "
        )
    top = done.rows()[done.peak]
    end = " (the end of the range)" if done.peak in (0, len(done.udp_bps) - 1) else ""
    if not end and done.peak in (solved[0], solved[-1]):
        end = " (the end of where the model has an answer)"
    greatest = number(_known(top, "udp_share"), 0.01)
    return f"UDP's share is greatest, {greatest} %, at {top['udp_load']:.3g} of the link's rate{end}; "


def _limit(done: ChokeTheory) -> str:
    """What UDP can have at most."""
    most = choke.worst_share(done.udp, done.candidates)
    if most < 1:
        theorem = "" if done.udp == done.candidates == 1 else ", generalised"
        return f"with many TCP flows UDP never has more than {number(most, 0.01)} % (Theorem 1{theorem})"
    enough = next(m for m in range(1, MOST_CANDIDATES) if choke.worst_share(done.udp, m) < 1)
    return f"{done.udp} UDP flows can fill the queue and take the whole link: that needs {enough} candidates to prevent"


MOST_CANDIDATES = 10**4
"""Where the search for them would end: 0.567 for each UDP flow are enough."""


def cells(done: ChokeTheory, index: int, factor: float) -> list[str]:
    """A row of the table."""
    row = done.rows()[index]
    held = "*" if row["held_loss_ratio"] else ""
    return [
        number(_known(row, "udp_rate_bps"), factor),
        number(_known(row, "udp_share"), 0.01),
        number(_known(row, "approximate_udp_share"), 0.01),
        number(_known(row, "tcp_throughput_per_flow_bps"), factor),
        number(_known(row, "backlog_packets")) + held,
        number(_known(row, "queueing_delay_s"), 1e-3),
        number(_known(row, "udp_occupancy"), 0.01),
        number(_known(row, "tcp_loss_ratio"), 0.01),
    ]


def _known(row: dict[str, float | str | None], name: str) -> float | None:
    value = row[name]
    return value if isinstance(value, float) else None


def show_candidates(counts: list[int], shares: list[float], table: list[list[int | None]]) -> None:
    """Print which number of candidates keeps k flows under each share."""
    header = ["unresponsive flows", *(f"≤ {100 * share:g} %" for share in shares)]
    rows = [[str(k), *("–" if m is None else str(m) for m in row)] for k, row in zip(counts, table, strict=True)]
    print_table(header, rows)
    print("candidates needed so that these flows together never have more of the link, whatever they send;")
    print("many TCP flows, a long queue (Theorem 1 for k flows and m candidates)")
