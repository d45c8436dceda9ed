"""The figures of CHOKe's theory: share and backlog over the UDP rate, the density in the queue, candidates needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..plot import style as plot
from . import choke

if TYPE_CHECKING:
    from .choke_curve import ChokeTheory

FULL = plot.Style("full model, (3)–(9)", plot.BLUE, "-")
ROUGH = plot.Style("approximate model, Sec. III", plot.VERMILION, "--")
CLOSED = plot.Style("closed curve, Theorem 1", plot.GREY, ":")
DENSITIES = (plot.SKY, plot.GREEN, plot.ORANGE, plot.VERMILION, plot.PURPLE)


@plot.drawing
def curve(done: ChokeTheory) -> Figure:
    """UDP's share of the link and the queue over UDP's rate, and where in the queue UDP's packets are."""
    figure = Figure(figsize=(10.4, 3.6), layout="constrained")
    share, queue, density = figure.subplots(1, 3)
    load = done.udp_bps / done.rate_bps
    marker = "o" if len(load) == 1 else ""
    share.plot(load, 100 * done.curve.share, FULL.line, marker=marker, color=FULL.color, label=FULL.label)
    queue.plot(load, done.curve.b, FULL.line, marker=marker, color=FULL.color, label=FULL.label)
    if done.rough is not None:
        share.plot(load, 100 * done.rough.share, ROUGH.line, marker=marker, color=ROUGH.color, label=ROUGH.label)
        queue.plot(load, done.rough.b, ROUGH.line, marker=marker, color=ROUGH.color, label=ROUGH.label)
    worst = choke.worst_share(done.udp, done.candidates)
    plot.reference(share, 100 * worst, f"{100 * worst:.1f} %, many TCP flows", color=CLOSED.color)
    for axes in (share, queue):
        axes.set_xscale("log")
        axes.set_xlabel("rate of each UDP flow / link's rate" if done.udp > 1 else "UDP rate / link's rate")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.set_ylim(bottom=0)
    share.set_ylabel("UDP's share of the link (%)")
    queue.set_ylabel("packets in the queue")
    top = float(np.asarray(done.queue.max_th))
    if np.nanmax(done.curve.b) > 0.6 * top:
        plot.reference(queue, top, "max_th")
    _densities(density, done)
    plot.legend(figure, [share])
    return figure


def _densities(axes: Axes, done: ChokeTheory) -> None:
    """ρ(y) at some of the rates."""
    solved = [index for index, refusal in enumerate(done.curve.refusals) if refusal is None]
    picked = [
        solved[i] for i in sorted({*np.linspace(0, len(solved) - 1, len(DENSITIES)).round().astype(int).tolist()})
    ]
    for colour, index in zip(DENSITIES, picked, strict=False):
        eq: choke.Equilibrium = done.curve[index]
        place = np.linspace(0, 1, 200)
        load = done.udp_bps[index] / done.rate_bps
        axes.plot(place, choke.space(eq).rho(place * eq.b), color=colour, label=f"{load:.3g}")
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    axes.set_xlabel("place in the queue y/b (0: tail, 1: head)")
    axes.set_ylabel("ρ(y): share of UDP there")
    axes.legend(title="UDP rate / link's")


@plot.drawing
def candidates(counts: list[int], shares: list[float], table: list[list[int | None]]) -> Figure:
    """Candidates needed over the number of unresponsive flows, a line for each share."""
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.subplots()
    colours = (plot.BLUE, plot.GREEN, plot.ORANGE, plot.VERMILION, plot.PURPLE, plot.SKY)
    for index, share in enumerate(shares):
        needed = np.array([np.nan if row[index] is None else float(row[index] or 0) for row in table])
        axes.plot(
            counts, needed, "-", marker="osD^vP"[index % 6], color=colours[index % 6], label=f"≤ {100 * share:g} %"
        )
    edge = [next(m for m in range(1, 10**4) if k * choke.most_phi(m) < 1 - 1e-9) for k in counts]
    axes.plot(counts, edge, ":", color=plot.GREY, label="below: the flows fill the queue")
    axes.set_xlabel("unresponsive flows")
    axes.set_ylabel("candidates m")
    axes.set_ylim(bottom=0)
    axes.legend(title="share of the link")
    return figure
