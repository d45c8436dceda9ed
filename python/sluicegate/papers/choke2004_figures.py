"""The figures of "Understanding CHOKe", Figs. 4 to 9, of its Sec. VI, and of what goes beyond the paper."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from ..experiments.engine import Tables
from ..quantities import significant as number
from ..report import FigurePart
from ..theory import choke
from . import Settings
from . import choke2004_charts as drawn
from .choke2004 import BINS, density
from .choke2004_cases import (
    BACK_FACTORS,
    BACK_LOAD,
    BACK_MANY,
    BACK_SMOOTH,
    CANDIDATES,
    CROWDED,
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
    NEEDED_TCP,
    SNAPSHOT_S,
    SPATIAL,
    SPATIAL_MANY,
    TCP_FLOWS,
    TWO_LOAD,
    UNEQUAL,
    VEGAS_ALPHAS,
    VEGAS_LOAD,
    Case,
)
from .choke2004_laws import LAWS, ratios
from .choke2004_model import MODELS, approximate, needed, needed_at, said, table
from .choke2004_rows import group_rows
from .choke2004_spatial import HEAD, approximate_rho, model_rho
from .points import interval_of, summarise

X0 = "UDP sends (parts of the link's rate)"
TICKS = (0.1, 0.3, 1, 3, 10)
COLUMNS = ("share", "occupancy", "b", "tcp_flow", "x1", "p1")
EACH = (
    "Means over seeds with 95 % intervals. Full model: eqs. (3) to (9) with (43) and (44), and with a law of TCP that "
    "knows time-outs and the drops of RED as it spaces them here. Approximate model: Sec. III-C."
)


TCP = (
    drawn.Panel("what a TCP flow sends", "x1", 1.0, "x₁ (packets/s)"),
    drawn.Panel("what it loses", "p1", 100.0, "p₁ (%)"),
)


def figures(settings: Settings, results: Tables, runs: pl.DataFrame) -> tuple[FigurePart, ...]:
    """All of them."""
    return (
        _load(runs), _many(runs), _laws(runs), _spatial(results), _spatial_many(results), _vegas(runs),
        _over_time(settings, results, runs),
        _few(runs), _kinds(runs), _beyond(results, runs), _needed(runs),
    )  # fmt: skip


def joined(cases: Sequence[Case], runs: pl.DataFrame, **columns: Sequence[object]) -> pl.DataFrame:
    """For each case the means of `COLUMNS`, and what the models say; `columns` are added."""
    ids = pl.DataFrame({"experiment": [case.id for case in cases], **columns})
    means = summarise(runs.join(ids, on="experiment", how="semi"), ("experiment",), COLUMNS)
    both = ids.join(means, on="experiment", maintain_order="left")
    return both.join(table(cases), on="experiment", maintain_order="left")


def off(data: pl.DataFrame, row: int, model: str = "ours") -> str:
    """By how much the simulated queue of a row is above a model's; by default that with time-outs and RED's gaps."""
    return f"{100 * (data['b_mean'][row] / data[f'{model}_b'][row] - 1):+.0f} %"


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
        f"(43) and (44) has the same shares and a longer queue: the measured one is off by {off(data, 0, 'paper')} at "
        f"0.1c and {off(data, -1, 'paper')} at 10c. From that with time-outs and RED's gaps it is {off(data, 0)} and "
        f"{off(data, -1)} off, partly because two errors cancel: see the figure of the laws. The approximate model has "
        "no matches of TCP: its p₁ is r.",
        alt="Queue, UDP's share of the link, TCP's rate and loss over UDP's rate: simulation and three models.",
        drawing=drawn.compared(
            data,
            (drawn.Panel("aggregate queue", "b", 1.0, "queue b (packets)"),
             drawn.Panel("UDP's share of the link", "share", 100.0, "UDP's share (%)", 100 * choke.PEAK_SHARE,
                         "Theorem 1: 26.9 %"), *TCP),
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
        f"Against the model with time-outs and RED's gaps the queue is {off(data, 0)} with {first.tcp[0][0]} flows and "
        f"{off(data, -1)} with {last.tcp[0][0]}. The throughput is c(1 − μ₀)/N by (7), whatever the law of TCP; what "
        "TCP sends and loses tells the models apart.",
        alt="Queue, throughput, rate and loss of a TCP flow over the number of TCP flows: simulation and models.",
        drawing=drawn.compared(
            data,
            (drawn.Panel("aggregate queue", "b", 1.0, "queue b (packets)"),
             drawn.Panel("throughput of a TCP flow", "tcp_flow", 1.0, "x₁(1 − p₁) (packets/s)"), *TCP),
            "flows", "TCP flows, N", (), log=False,
        ),
        data=data,
    )  # fmt: skip


ALTERED = (
    ("paper", "full model, (43), (44)"),
    ("trip", "and the packet's own time"),
    ("padhye", "and time-outs"),
    ("gaps", "and RED's gaps"),
    ("ours", "and all three"),
)


def _laws(runs: pl.DataFrame) -> FigurePart:
    cases = (*MANY, *LOAD[:-1])
    ids = pl.DataFrame({"experiment": [case.id for case in cases], "flows": [case.tcp[0][0] for case in cases],
                        "x0": [case.x0 for case in cases]})  # fmt: skip
    means = summarise(runs.join(ids, on="experiment", how="semi"), ("experiment",), ("b", "x1", "p1", "tau", "r"))
    by_law = summarise(ratios(runs, cases), ("experiment",), LAWS).drop("seeds")
    data = ids.join(means, on="experiment", maintain_order="left").join(by_law, on="experiment", maintain_order="left")
    data = data.join(table(cases, tuple(MODELS)), on="experiment", maintain_order="left")
    last = data.row(by_predicate=(pl.col("flows") == TCP_FLOWS) & (pl.col("x0") == MANY[0].x0), named=True)
    models = ", ".join(f"{last[f'{name}_b']:.1f} ({label})" for name, label in ALTERED)
    few, many = data.row(0, named=True), data.row(len(MANY) - 1, named=True)

    def range_(law: str) -> str:
        values = data[f"{law}_mean"].to_numpy() * 100
        return f"{values.min():+.0f} to {values.max():+.0f} %"

    return FigurePart(
        id="laws",
        label="Section V-A",
        title="Why the queue differs: each law by itself",
        setup="The runs of Figures 4 and 5; drawn are those of Figure 5. Left: models that change one thing at a time. "
        "Middle: f(p₁, τ) at the measured p₁ and τ over the measured x₁. Right: g at the measured queue over RED's "
        "measured drops, and the part of arrivals that the comparison drops over the flow's part of the queue, 1 by "
        "(5).",
        paper_says="Simulation and analytical results match very well, with (43) and (44).",
        measured=f"At N = 32 and 10c the queue is {last['b_mean']:.1f} packets; the models have {models}. (43) is "
        f"{range_('f_paper')} off the rates measured, the law with time-outs {range_('f_ours')}: "
        f"{100 * few['f_ours_mean']:+.0f} % with 12 flows, {100 * many['f_ours_mean']:+.0f} % with 64. (44) is "
        f"{range_('g_paper')} off RED's drops, the law of its gaps {range_('g_ours')}. The part of TCP's arrivals that "
        f"the comparison drops is {range_('hits_tcp')} off (5): a TCP flow sends when its packets have left. That "
        "shortens the model's queue, the law of TCP lengthens it with many flows, and near N = 32 the two cancel. "
        f"With TCP's rate and the hits as measured the other equations give the queue ({range_('rest_b')}).",
        alt="Queue by five models over N; laws of TCP, of RED and of the comparison over what was measured.",
        drawing=drawn.laws(data.filter(pl.col("x0") == MANY[0].x0).sort("flows"), ALTERED),
        data=data,
    )


def spatial_part(
    results: Tables, cases: Sequence[Case], shown: Sequence[tuple[str, Case]]
) -> tuple[pl.DataFrame, list[tuple[str, pl.DataFrame, dict[str, drawn.Curve | None]]]]:
    """ρ by place of all `cases`, measured and by the models, and the panels of those `shown`."""
    tables, panels = {}, []
    for case in cases:
        data = summarise(density(results, case), ("experiment", "x0", "place"), ("rho",))
        place = data["place"].to_numpy()
        curves = {
            "paper": model_rho(case, "paper"),
            "ours": model_rho(case, "ours"),
            "approximate": approximate_rho(case),
        }
        known = [pl.Series(f"{name}_rho", curve(place)) for name, curve in curves.items() if curve is not None]
        tables[case.id] = data.with_columns(pl.lit(case.tcp[0][0]).alias("flows"), *known), curves
    for title, case in shown:
        panels.append((title, *tables[case.id]))
    return pl.concat([table for table, _ in tables.values()], how="diagonal"), panels


SPATIAL_SETUP = (
    f"Snapshots every {1000 * SNAPSHOT_S:g} ms, which is no multiple of UDP's gap. The queue of each snapshot is cut "
    f"into {BINS} parts, from tail to head; the last point is the packet at the very head. Lines: ρ(y) of the models; "
    "in the approximate one UDP's packets alone are hit on their way, h₁ = 0."
)


def _spatial(results: Tables) -> FigurePart:
    shown = [(f"x₀ = {case.x0:g}c", case) for case in LOAD if case.x0 in SPATIAL]
    data, panels = spatial_part(results, LOAD, shown)

    def at(x0: float, place: float) -> str:
        row = data.filter((pl.col("x0") == x0) & ((pl.col("place") - place).abs() < 1e-9)).row(0, named=True)
        return number(row["rho_mean"])

    low, high = 0.5 / BINS, HEAD
    return FigurePart(
        id="fig6",
        label="Figure 6",
        title="Where UDP's packets are in the queue",
        setup=f"The runs of Figure 4. {SPATIAL_SETUP}",
        paper_says="At 0.1c UDP's packets are spread evenly, with a probability close to 0.08 at each place. With a "
        "higher rate ρ concentrates near the tail and drops rapidly towards the head; at the head it equals UDP's "
        "share of the link, also at 10c, where about half of the queue is UDP's.",
        measured="; ".join(
            f"at {x0:g}c ρ is {at(x0, low)} at the tail and {at(x0, high)} at the head" for x0 in SPATIAL
        )
        + ".",
        alt="Part of packets that are UDP's over the place in the queue, at four rates: snapshots and models.",
        drawing=drawn.spatial(panels),
        data=data,
    )


def _spatial_many(results: Tables) -> FigurePart:
    shown = [(f"N = {case.tcp[0][0]}", case) for case in MANY if case.tcp[0][0] in SPATIAL_MANY]
    data, panels = spatial_part(results, MANY, shown)
    apart = data.filter(pl.col("place") < HEAD).with_columns(off=(pl.col("rho_mean") - pl.col("ours_rho")).abs())
    row = apart.sort("off").row(-1, named=True)
    return FigurePart(
        id="fig6-n",
        label="Section V-B",
        title="Where UDP's packets are, for 12 to 64 TCP flows",
        setup=f"The runs of Figure 5, UDP at 10c. {SPATIAL_SETUP}",
        paper_says="Of N = 32 alone; that simulations match Theorems 4 and 8.",
        measured=f"ρ differs from the model with time-outs and RED's gaps by at most {row['off']:.3f}, with "
        f"{row['flows']} flows at {row['place']:g} of the queue.",
        alt="Part of packets that are UDP's over the place in the queue, for four numbers of TCP flows.",
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
        setup="100 Vegas transfers on 15 Mbit/s, 20 s, of which the first 5 are not measured; α = β = 3. Means over "
              "seeds with 95 % intervals. Full model: x = α/τ, with (44) and with RED's drops as it spaces them. "
              "Approximate model: Sec. III-C.",
        paper_says="The behaviour does not depend on the TCP algorithm. The match with Theorem 1 is better than with "
                   "NewReno, because there are more flows and the queue is longer.",
        measured=f"UDP's share is greatest at {best.x0:g}c, {value(runs, best, 'share', 100, '%')}; at 10c it is "
        f"{value(runs, VEGAS_LOAD[-1], 'share', 100, '%')}. The queue is {off(data, 0)} off that of the model "
        f"with RED's gaps at 0.1c and {off(data, -1)} at 10c, where losses hold TCP below α/τ. At 1.25c with another "
        f"α: {others}.",
        alt="Queue and UDP's share of the link over UDP's rate with TCP Vegas: simulation and three models.",
        drawing=drawn.compared(
            data,
            (drawn.Panel("aggregate queue", "b", 1.0, "queue b (packets)"),
             drawn.Panel("UDP's share of the link", "share", 100.0, "UDP's share (%)", 100 * choke.PEAK_SHARE,
                         "Theorem 1: 26.9 %")),
            "x0", X0, TICKS, models=drawn.VEGAS_MODELS,
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
        spread = interval_of(runs, case.id, "b")
        levels = {"paper": said(case, "paper").b, "ours": said(case, "ours").b, "approximate": approximate(case).b}
        panels.append(
            drawn.OverTime(title, one["time_s"].to_list(), one["queue_packets"].to_list(),
                           one["average_packets"].to_list(), spread.mean, spread.half_width, levels)
        )  # fmt: skip
    return FigurePart(
        id="fig8-9",
        label="Figures 8 and 9",
        title="The queue over time: CHOKe active, and switched on and off",
        setup=f"UDP sends 10c. One run (seed {seed}), a minute of it; the mean is that of all runs. Models are drawn "
        "where they have an answer. The last panel is the statement on growing c.",
        paper_says="With N = 40 the queue fluctuates around a level well above min_th. With N = 8 it oscillates "
        "around min_th, constantly turning CHOKe on and off; so it does when c grows with fixed N.",
        measured=f"Mean queue: {value(runs, FIG8, 'b', 1, 'packets')} with N = 40, "
        f"{value(runs, FEW[2], 'b', 1, 'packets')} with N = 8, {value(runs, FAST[-1], 'b', 1, 'packets')} with N = 32 "
        f"on 8 Mbit/s; min_th is {MIN_TH}.",
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
                   "link with the same flows, it is turned on and off near min_th, and TCP may not use the whole "
                   "link.",
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
    ends = lines(
        ("Front CHOKe", FRONT_LOAD), ("Back CHOKe", BACK_LOAD),
        *((f"Back, N = {number}{', TCP spaced, UDP jittered' if both else ''}", (BACK_FACTORS[number, both, both],))
          for number, both in ((TCP_FLOWS, True), (BACK_MANY, False), (BACK_MANY, True))),
    )  # fmt: skip
    factors = "; ".join(
        f"N = {number}{', TCP spaced' if slow else ''}{', UDP jittered' if jitter else ''} "
        f"{value(runs, case, 'share', 100, '%')}"
        for (number, slow, jitter), case in BACK_FACTORS.items()
    )
    return FigurePart(
        id="kinds",
        label="Section VI",
        title="Several UDP flows, Front and Back CHOKe",
        setup=f"{TCP_FLOWS} NewReno transfers on 1 Mbit/s. Left: several like UDP flows and one candidate, lines: "
              f"full model. "
        "Right: an arrival is compared with the packet at the head or at the tail. TCP spaced: its packets leave at "
        "1 Mbit/s; UDP jittered: with random gaps.",
        paper_says="With more than one UDP flow CHOKe may be less effective, and UDP take more at a high rate. With "
                   "Back CHOKe the burstiness of arrivals decides; UDP's share is close to 1/3 if the number of TCP "
                   "flows is large, and the queue oscillates around min_th.",
        measured=f"Two UDP flows of 5c take {value(runs, TWO_LOAD[-1], 'share', 100, '%')}, five take "
        f"{value(runs, FIVE_LOAD[-1], 'share', 100, '%')}. Back CHOKe at 10c: "
        f"{value(runs, BACK_LOAD[-1], 'share', 100, '%')} with a queue of "
        f"{value(runs, BACK_LOAD[-1], 'b', 1, 'packets')}. One thing at a time: {factors}. In the last the queue is "
        f"{value(runs, BACK_SMOOTH, 'b', 1, 'packets')}, well above min_th, and CHOKe never off.",
        alt="Share of unresponsive flows over their rate, for several flows and for Front and Back CHOKe.",
        drawing=drawn.shares([
            ("several UDP flows", several, "each sends (parts of c)", (0.2, 0.5, 1, 2, 5), None),
            ("Front and Back CHOKe", ends, "UDP sends (parts of c)", (0.5, 1, 2, 5, 10), 1 / 3),
        ]),
        data=pl.concat([part for _, part in (*several, *ends)]),
    )  # fmt: skip


def _beyond(results: Tables, runs: pl.DataFrame) -> FigurePart:
    data = group_rows(results)

    def row(case: Case, label: str) -> str:
        found = data.filter((pl.col("experiment") == case.id) & pl.col("row").str.ends_with(label)).row(0, named=True)
        return f"{100 * found['share_mean']:.1f} % (model {100 * found['ours_share']:.1f} %)"

    return FigurePart(
        id="beyond",
        label="Beyond the paper",
        title="Several candidates, unequal UDP flows, different round trips",
        setup="First rows: one UDP flow of 2c and 2, 3 or 5 candidates, and 5 beside 96 TCP flows. Then three UDP "
        "flows of different rates. Then half of the TCP flows with a round trip of 20 ms, half with 400 ms. Shares of "
        "groups of flows. The approximate model has one UDP flow and one candidate, so nothing to say here.",
        paper_says="It would be interesting to extend the analysis: to several candidates, several unresponsive flows, "
        "heterogeneous TCP flows (Sec. VII).",
        measured="Against the model with time-outs and RED's gaps: with 5 candidates UDP has "
        f"{row(CANDIDATES[-1], 'UDP of 2c')}, for the queue is at {value(runs, CANDIDATES[-1], 'b', 1, 'packets')}, "
        f"near min_th, where CHOKe turns off at times; beside 96 TCP flows it has {row(CROWDED, 'UDP of 2c')}. Against "
        f"three UDP flows and one candidate TCP has {row(UNEQUAL[0], 'TCP, 100 ms')}: it lives by time-outs there, and "
        f"sends less than its law says. With 3 candidates it has {row(UNEQUAL[1], 'TCP, 100 ms')}. With two round "
        f"trips, UDP at 2c, near flows have {row(FAR[1], 'TCP, 20 ms')}, far ones {row(FAR[1], 'TCP, 400 ms')}.",
        alt="Shares of groups of flows: simulation and models.",
        drawing=drawn.against_model(data),
        data=data,
    )


def _needed(runs: pl.DataFrame) -> FigurePart:
    ks = range(1, 13)
    steps: list[tuple[str, Sequence[int], Sequence[int]]] = [
        (f"under {100 * share:g} %, many TCP flows", ks, [choke.candidates_for(k, share) or 0 for k in ks])
        for share in (0.1, LIMIT_SHARE, 0.5)
    ]
    steps.append(
        (f"under {100 * LIMIT_SHARE:g} %, {NEEDED_TCP} TCP flows", NEEDED_FLOWS, [needed_at(k) for k in NEEDED_FLOWS])
    )
    each = needed()
    closed = {k: choke.candidates_for(k, LIMIT_SHARE) for k in NEEDED_FLOWS}
    which = [
        "closed curve's m" if one.case.candidates == closed[one.case.udp[0][0]]
        else "full model's m, N = 96" if one.full else "one less than that"
        for one in each
    ]  # fmt: skip
    cases = [one.case for one in each]
    data = joined(
        cases, runs, k=[case.udp[0][0] for case in cases], m=[case.candidates for case in cases], which=which,
        closed=[one.closed for one in each], full=[one.full for one in each], x0=[case.x0 for case in cases],
    )  # fmt: skip
    return FigurePart(
        id="needed",
        label="Beyond the paper",
        title="How many candidates for k unresponsive flows",
        setup="Left: the least m with which k like flows never take more than a given share, whatever they send, by "
              "the closed curve (many TCP flows, a long queue), and for 25 % by the full model with 96 TCP flows. "
              "Right: the rate at which they take most, simulated beside 96 TCP flows.",
        paper_says="CHOKe 1999, Sec. 6: the number of candidates must grow with the number of unresponsive flows; "
                   "how, it does not say.",
        measured="For 25 % of the link m is " + ", ".join(f"{closed[k]} for {k}" for k in NEEDED_FLOWS)
        + f" by the closed curve, and {', '.join(f'{needed_at(k)} for {k}' for k in NEEDED_FLOWS)} by the full model "
          f"with {NEEDED_TCP} TCP flows: there the curve is one on the safe side. Simulated shares: " + "; ".join(
            f"k = {case.udp[0][0]}, m = {case.candidates}: {value(runs, case, 'share', 100, '%')}" for case in cases)
        + ".",
        alt="Candidates needed over the number of unresponsive flows, and shares simulated.",
        drawing=drawn.needed(steps, data, LIMIT_SHARE),
        data=data,
    )  # fmt: skip
