"""The figures of "Understanding CHOKe", Figs. 4 to 9, of its Sec. VI, and of what goes beyond the paper."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from ..report import FigurePart, number
from ..runner import Tables
from ..theory import choke
from . import Settings
from . import choke2004_charts as drawn
from .choke2004 import BINS, density, groups
from .choke2004_cases import (
    BACK_LOAD,
    BACK_SMOOTH,
    CANDIDATES,
    FAR,
    FAST,
    FEW,
    FIG8,
    FIVE_LOAD,
    FRONT_LOAD,
    LIMIT_SHARE,
    LOAD,
    MANY,
    MIN_TH,
    NEEDED_FLOWS,
    SPATIAL,
    TCP_FLOWS,
    TRIPS,
    TWO_LOAD,
    UNEQUAL,
    VEGAS_ALPHAS,
    VEGAS_LOAD,
    Case,
)
from .choke2004_model import equilibria, needed, table
from .points import interval_of, summarise

X0 = "UDP sends (parts of the link's rate)"
TICKS = (0.1, 0.3, 1, 3, 10)
COLUMNS = ("share", "occupancy", "b", "tcp_flow")
EACH = (
    "Means over seeds with 95 % intervals. Full model: eqs. (3) to (9) with (43) and (44), and with a law of TCP that "
    "knows time-outs and the drops of RED as it spaces them here. Approximate model: Sec. III-C."
)


def figures(settings: Settings, results: Tables, runs: pl.DataFrame) -> tuple[FigurePart, ...]:
    """All of them."""
    return (
        _load(runs), _many(runs), _spatial(settings, results), _vegas(runs), _over_time(settings, results, runs),
        _few(runs), _kinds(runs), _beyond(results, runs), _needed(runs),
    )  # fmt: skip


def joined(cases: Sequence[Case], runs: pl.DataFrame, **columns: Sequence[object]) -> pl.DataFrame:
    """For each case the means of `COLUMNS`, and what the models say; `columns` are added."""
    ids = pl.DataFrame({"experiment": [case.id for case in cases], **columns})
    means = summarise(runs.join(ids, on="experiment", how="semi"), ("experiment",), COLUMNS)
    both = ids.join(means, on="experiment", maintain_order="left")
    return both.join(table(cases), on="experiment", maintain_order="left")


def off(data: pl.DataFrame, row: int) -> str:
    """By how much the simulated queue of a row is above that of the model with time-outs and RED's gaps."""
    return f"{100 * (data['b_mean'][row] / data['ours_b'][row] - 1):+.0f} %"


def value(runs: pl.DataFrame, case: Case, column: str, factor: float, unit: str) -> str:
    """A mean with its interval."""
    found = interval_of(runs, case.id, column)
    spread = f" ± {found.half_width * factor:.2g}" if np.isfinite(found.half_width) else ""
    return f"{number(found.mean * factor)}{spread} {unit}"


def _load(runs: pl.DataFrame) -> FigurePart:
    data = joined(LOAD, runs, x0=[case.x0 for case in LOAD])
    best = max(LOAD, key=lambda case: interval_of(runs, case.id, "share").mean)
    return FigurePart(
        id="fig4",
        label="Figure 4",
        title="Effect of the UDP rate on queue and UDP's share",
        setup=f"{TCP_FLOWS} NewReno transfers and one UDP source on 1 Mbit/s (c = 125 packets/s). {EACH}",
        paper_says="The queue grows steadily with UDP's rate; UDP's share rises, peaks and drops to less than 5 % at "
                   "10c. "
        "Simulation and full model give a smaller share than the approximate model, whose greatest is 26.9 %.",
        measured=f"UDP's share is greatest at {best.x0:g}c, {value(runs, best, 'share', 100, '%')}, and "
        f"{value(runs, LOAD[-1], 'share', 100, '%')} at 10c. The queue grows from "
        f"{value(runs, LOAD[0], 'b', 1, 'packets')} to {value(runs, LOAD[-1], 'b', 1, 'packets')}. The full model with "
        "(43) and (44) has the same shares and a queue half as long again; with time-outs and RED's gaps counted its "
        "queue agrees, too.",
        alt="Queue and UDP's share of the link over UDP's rate: simulation and three models.",
        drawing=drawn.compared(
            data,
            (drawn.Panel("aggregate queue", "b", 1.0, "queue b (packets)"),
             drawn.Panel("UDP's share of the link", "share", 100.0, "UDP's share (%)", 100 * choke.PEAK_SHARE,
                         "Theorem 1: 26.9 %")),
            "x0", X0, TICKS,
        ),
        data=data,
    )  # fmt: skip


def _many(runs: pl.DataFrame) -> FigurePart:
    data = joined(MANY, runs, flows=[case.tcp[0][0] for case in MANY])
    first, last = MANY[0], MANY[-1]
    return FigurePart(
        id="fig5",
        label="Figure 5",
        title="Effect of the number of TCP flows at 10c",
        setup=f"UDP sends 10c; 12 to 64 NewReno transfers. {EACH}",
        paper_says="The queue grows and the throughput of a TCP flow falls with N; simulation and model match very "
                   "well.",
        measured=f"From {first.tcp[0][0]} to {last.tcp[0][0]} flows the queue grows from "
        f"{value(runs, first, 'b', 1, 'packets')} to {value(runs, last, 'b', 1, 'packets')}; a TCP flow gets "
        f"{value(runs, first, 'tcp_flow', 1, 'packets/s')} and {value(runs, last, 'tcp_flow', 1, 'packets/s')}. "
        f"Against the model with time-outs and RED's gaps the queue is {off(data, 0)} with "
        f"{first.tcp[0][0]} flows and {off(data, -1)} with {last.tcp[0][0]}.",
        alt="Queue and throughput of a TCP flow over the number of TCP flows: simulation and models.",
        drawing=drawn.compared(
            data,
            (drawn.Panel("aggregate queue", "b", 1.0, "queue b (packets)"),
             drawn.Panel("throughput of a TCP flow", "tcp_flow", 1.0, "packets/s")),
            "flows", "TCP flows, N", (), log=False,
        ),
        data=data,
    )  # fmt: skip


def spatial_table(settings: Settings, results: Tables, case: Case) -> pl.DataFrame:
    """ρ by place, over seeds."""
    return summarise(density(results, settings, case), ("experiment", "x0", "place"), ("rho",))


def _spatial(settings: Settings, results: Tables) -> FigurePart:
    panels, tables = [], []
    for case in (case for case in LOAD if case.x0 in SPATIAL):
        data = spatial_table(settings, results, case)
        curves = []
        for model in ("paper", "ours"):
            eq = equilibria(model)[case.id]
            assert eq is not None
            place = choke.space(eq)
            curves.append(lambda y, place=place: place.rho(y * place.b, flow=1))
        panels.append((f"x₀ = {case.x0:g}c", data, curves[0], curves[1]))
        tables.append(data)
    data = pl.concat(tables)

    def at(x0: float, place: float) -> str:
        row = data.filter((pl.col("x0") == x0) & ((pl.col("place") - place).abs() < 1e-9)).row(0, named=True)
        return number(row["rho_mean"])

    low, high = 0.5 / BINS, 1.0
    return FigurePart(
        id="fig6",
        label="Figure 6",
        title="Where UDP's packets are in the queue",
        setup=f"Snapshots every 100 ms of the runs of Figure 4. The queue of each snapshot is cut into {BINS} parts, "
        f"from "
        "tail to head; the last point is the packet at the very head. Lines: ρ(y) of both full models.",
        paper_says="At 0.1c UDP's packets are spread evenly, with a probability close to 0.08 at each place. With a "
        "higher "
        "rate ρ concentrates near the tail and drops rapidly towards the head; at the head it equals UDP's share of "
        "the "
        "link, also at 10c, where about half of the queue is UDP's.",
        measured="; ".join(
            f"at {x0:g}c ρ is {at(x0, low)} at the tail and {at(x0, high)} at the head" for x0 in SPATIAL
        )
        + ".",
        alt="Part of packets that are UDP's over the place in the queue, at four rates: snapshots and models.",
        drawing=drawn.spatial(panels),
        data=data,
    )


def _vegas(runs: pl.DataFrame) -> FigurePart:
    data = joined(VEGAS_LOAD, runs, x0=[case.x0 for case in VEGAS_LOAD])
    best = max(VEGAS_LOAD, key=lambda case: interval_of(runs, case.id, "share").mean)
    others = "; ".join(f"α = {case.alpha:g}: {value(runs, case, 'share', 100, '%')}, queue "
                       f"{value(runs, case, 'b', 1, 'packets')}" for case in VEGAS_ALPHAS)  # fmt: skip
    return FigurePart(
        id="fig7",
        label="Figure 7",
        title="TCP Vegas: effect of the UDP rate",
        setup=f"100 Vegas transfers on 15 Mbit/s, 20 s, of which the first 5 are not measured; α = β = 3. {EACH}",
        paper_says="The behaviour does not depend on the TCP algorithm. The match with Theorem 1 is better than with "
                   "NewReno, "
        "because there are more flows and the queue is longer.",
        measured=f"UDP's share is greatest at {best.x0:g}c, {value(runs, best, 'share', 100, '%')}; at 10c it is "
        f"{value(runs, VEGAS_LOAD[-1], 'share', 100, '%')}. At 1.25c with another α: {others}.",
        alt="Queue and UDP's share of the link over UDP's rate with TCP Vegas: simulation and three models.",
        drawing=drawn.compared(
            data,
            (drawn.Panel("aggregate queue", "b", 1.0, "queue b (packets)"),
             drawn.Panel("UDP's share of the link", "share", 100.0, "UDP's share (%)", 100 * choke.PEAK_SHARE,
                         "Theorem 1: 26.9 %")),
            "x0", X0, TICKS,
        ),
        data=data,
    )  # fmt: skip


def _over_time(settings: Settings, results: Tables, runs: pl.DataFrame) -> FigurePart:
    seed = settings.seeds[0]
    cases = (("Figure 8: N = 40", FIG8), ("Figure 9: N = 8", FEW[2]), ("N = 32 on 8 Mbit/s", FAST[-1]))
    start = settings.warmup_s
    rows = results["queue"].filter((pl.col("seed") == seed) & (pl.col("time_s") >= start)
                                   & (pl.col("time_s") <= start + 60))  # fmt: skip
    panels, tables = [], []
    for title, case in cases:
        one = rows.filter(pl.col("experiment") == case.id)
        tables.append(one)
        panels.append(
            (title, one["time_s"].to_list(), one["queue_packets"].to_list(), one["average_packets"].to_list())
        )
    return FigurePart(
        id="fig8-9",
        label="Figures 8 and 9",
        title="The queue over time: CHOKe active, and switched on and off",
        setup=f"UDP sends 10c. One run (seed {seed}), a minute of it. The last panel is the statement on growing c.",
        paper_says="With N = 40 the queue fluctuates around a level well above min_th. With N = 8 it oscillates "
        "around min_th, "
        "constantly turning CHOKe on and off; so it does when c grows with fixed N.",
        measured=f"Mean queue: {value(runs, FIG8, 'b', 1, 'packets')} with N = 40, "
        f"{value(runs, FEW[2], 'b', 1, 'packets')} "
        f"with N = 8, {value(runs, FAST[-1], 'b', 1, 'packets')} with N = 32 on 8 Mbit/s; min_th is {MIN_TH}.",
        alt="Queue and its average over time for many and for few TCP flows.",
        drawing=drawn.queues(panels, MIN_TH),
        data=pl.concat(tables),
    )


def _few(runs: pl.DataFrame) -> FigurePart:
    few = (*FEW, *MANY)
    fast = (LOAD[-1], *FAST)
    names = [f"N = {case.tcp[0][0]}, {case.link_bps / 1e6:g} Mbit/s" for case in (*few, *fast)]
    data = joined((*few, *fast), runs, row=names)
    flat = data.unique("row", keep="first", maintain_order=True)
    return FigurePart(
        id="few",
        label="Section VI",
        title="Few TCP flows, or a faster link",
        setup=f"UDP sends 10c. Where the model has no answer, CHOKe would not stay active. {EACH}",
        paper_says="CHOKe remains active from about 8.08 flows on (c = 125 packets/s). With fewer, or on a faster "
                   "link with the "
        "same flows, it is turned on and off near min_th, and TCP may not use the whole link.",
        measured="UDP's share and queue: " + "; ".join(
            f"N = {case.tcp[0][0]} on {case.link_bps / 1e6:g} Mbit/s {value(runs, case, 'share', 100, '%')}, "
            f"{value(runs, case, 'b', 1, 'packets')}" for case in (*FEW, *FAST)) + ". The link stays full: what TCP "
        "leaves while CHOKe is off, UDP takes.",
        alt="UDP's share of the link for few TCP flows and faster links: simulation and models.",
        drawing=drawn.against_model(flat),
        data=data,
    )  # fmt: skip


def _kinds(runs: pl.DataFrame) -> FigurePart:
    def lines(*named: tuple[str, Sequence[Case]]) -> list[tuple[str, pl.DataFrame]]:
        return [(name, joined(cases, runs, x=[case.x0 for case in cases])) for name, cases in named]

    several = lines(("2 UDP flows", TWO_LOAD), ("5 UDP flows", FIVE_LOAD))
    ends = lines(("Front CHOKe", FRONT_LOAD), ("Back CHOKe", BACK_LOAD), ("Back, no bursts, N = 200", (BACK_SMOOTH,)))
    return FigurePart(
        id="kinds",
        label="Section VI",
        title="Several UDP flows, Front and Back CHOKe",
        setup=f"{TCP_FLOWS} NewReno transfers on 1 Mbit/s. Left: several like UDP flows and one candidate, lines: "
              f"full model. "
        "Right: an arrival is compared with the packet at the head or at the tail. No bursts: 200 TCP flows whose "
        "packets "
        "leave at 1 Mbit/s, and UDP with random gaps.",
        paper_says="With more than one UDP flow CHOKe may be less effective, and UDP take more at a high rate. With "
                   "Back "
        "CHOKe the burstiness of arrivals decides; UDP's share is close to 1/3 if the number of TCP flows is large, "
        "and the "
        "queue oscillates around min_th.",
        measured=f"Two UDP flows of 5c take {value(runs, TWO_LOAD[-1], 'share', 100, '%')}, five take "
        f"{value(runs, FIVE_LOAD[-1], 'share', 100, '%')}. Back CHOKe at 10c: "
        f"{value(runs, BACK_LOAD[-1], 'share', 100, '%')} "
        f"with a queue of {value(runs, BACK_LOAD[-1], 'b', 1, 'packets')}; without bursts "
        f"{value(runs, BACK_SMOOTH, 'share', 100, '%')}.",
        alt="Share of unresponsive flows over their rate, for several flows and for Front and Back CHOKe.",
        drawing=drawn.shares([
            ("several UDP flows", several, "each sends (parts of c)", (0.2, 0.5, 1, 2, 5), None),
            ("Front and Back CHOKe", ends, "UDP sends (parts of c)", (0.5, 1, 2, 5, 10), 1 / 3),
        ]),
        data=pl.concat([table for _, table in (*several, *ends)]),
    )  # fmt: skip


def _beyond(results: Tables, runs: pl.DataFrame) -> FigurePart:
    data = group_rows(results)
    worst = max(abs(a - b) for a, b in data.select("share_mean", "ours_share").iter_rows())
    return FigurePart(
        id="beyond",
        label="Beyond the paper",
        title="Several candidates, unequal UDP flows, different round trips",
        setup="First rows: one UDP flow of 2c and 2, 3 or 5 candidates. Then three UDP flows of different rates. "
        "Then half of "
        "the TCP flows with a round trip of 20 ms, half with 400 ms. Shares of groups of flows.",
        paper_says="It would be interesting to extend the analysis: to several candidates, several unresponsive flows, "
        "heterogeneous TCP flows (Sec. VII).",
        measured=f"Model (time-outs, RED's gaps) and simulation differ by at most {100 * worst:.1f} % of the link; "
        f"most with 5 "
        f"candidates, whose losses hold the queue at {value(runs, CANDIDATES[-1], 'b', 1, 'packets')}, near min_th.",
        alt="Shares of groups of flows: simulation and models.",
        drawing=drawn.against_model(data),
        data=data,
    )


def _needed(runs: pl.DataFrame) -> FigurePart:
    steps: dict[float, tuple[Sequence[int], Sequence[int]]] = {}
    ks = range(1, 13)
    for share in (0.1, LIMIT_SHARE, 0.5):
        steps[share] = (list(ks), [choke.candidates_for(k, share) or 0 for k in ks])
    cases = [case for case, _ in needed()]
    data = joined(
        cases, runs, k=[case.udp[0][0] for case in cases], m=[case.candidates for case in cases],
        enough=[enough for _, enough in needed()], x0=[case.x0 for case in cases],
    )  # fmt: skip
    ms = [choke.candidates_for(k, LIMIT_SHARE) for k in NEEDED_FLOWS]
    return FigurePart(
        id="needed",
        label="Beyond the paper",
        title="How many candidates for k unresponsive flows",
        setup="Left: the least m with which k like flows never take more than a given share, whatever they send, by "
              "the closed "
        "curve (many TCP flows, a long queue). Right: the rate at which they take most, simulated.",
        paper_says="CHOKe 1999, Sec. 6: the number of candidates must grow with the number of unresponsive flows; "
                   "how, it does "
        "not say.",
        measured="For 25 % of the link m is " + ", ".join(f"{m} for {k}" for k, m in zip(NEEDED_FLOWS, ms, strict=True))
        + ". Simulated shares: " + "; ".join(
            f"k = {case.udp[0][0]}, m = {case.candidates}: {value(runs, case, 'share', 100, '%')}" for case in cases)
        + ". The curve is of infinitely many TCP flows: with 96, fewer candidates may do.",
        alt="Candidates needed over the number of unresponsive flows, and shares simulated.",
        drawing=drawn.needed(steps, data, LIMIT_SHARE),
        data=data,
    )  # fmt: skip
