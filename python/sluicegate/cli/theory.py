"""The commands below `sluicegate theory`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..quantities import fixed
from .common import Json, Quiet, Refusal, answers, app, print_table
from .usage import Commands

if TYPE_CHECKING:
    from ..theory.choke_curve import ChokeTheory

FILES = ("theory.svg", "curve.parquet", "summary.json")
"""What `theory choke -o` writes."""

theory = typer.Typer(cls=Commands, help="Solve the papers' models for a link.", no_args_is_help=True)
app.add_typer(theory, name="theory", short_help="Solve the papers' models for a link, without a simulation.")


@theory.command(
    "choke",
    short_help="Solve the model of CHOKe: each flow's share and the length of the queue.",
    epilog="""Examples:

\b
sluicegate theory choke --tcp 32 --udp "0.1..10 Mbit/s" --rate "1 Mbit/s" --rtt "100 ms"
sluicegate theory choke --tcp 100 --udp "2 Mbit/s" --flows 5 --candidates 6 \\
    --rate "10 Mbit/s" --rtt "50 ms" --min-th 50 --max-th 500 -o out/
""",
)
@answers
def theory_choke(
    tcp: Annotated[int, typer.Option(metavar="N", help="Number of TCP flows.")],
    udp: Annotated[str, typer.Option(metavar="RATE", help='Rate of each UDP flow, or a range: "0.1..10 Mbit/s".')],
    rate: Annotated[str, typer.Option(metavar="RATE", help='Rate of the link, such as "1 Mbit/s".')],
    rtt: Annotated[str, typer.Option(metavar="TIME", help="Round trip without queues.")],
    flows: Annotated[int, typer.Option(metavar="K", help="Number of UDP flows of that rate.")] = 1,
    candidates: Annotated[
        int, typer.Option(metavar="M", help="Packets that CHOKe draws from the queue for each arrival.")
    ] = 1,
    packet_size: Annotated[str, typer.Option(metavar="SIZE", help="Length of every packet.")] = "1000 B",
    min_th: Annotated[
        float, typer.Option(metavar="PACKETS", help="Queue length from which CHOKe compares packets.")
    ] = 20,
    max_th: Annotated[
        float, typer.Option(metavar="PACKETS", help="Queue length from which CHOKe drops every arrival.")
    ] = 520,
    max_p: Annotated[
        float, typer.Option(metavar="PROBABILITY", help="Probability of a congestion drop as the queue reaches max_th.")
    ] = 0.5,
    law: Annotated[
        str, typer.Option(metavar="NAME", help="Model of TCP's rate: reno, simple, padhye or vegas.")
    ] = "reno",
    alpha: Annotated[
        float, typer.Option(metavar="PACKETS", help="For vegas: packets that each flow keeps in the queue.")
    ] = 3.0,
    min_rto: Annotated[str, typer.Option(metavar="TIME", help="For padhye: the shortest timeout.")] = "200 ms",
    uniform: Annotated[
        bool,
        typer.Option(
            "--uniform",
            help="Assume the simulator's spacing of congestion drops: it drops with probability 2p/(1 + p), not p.",
        ),
    ] = False,
    points: Annotated[int, typer.Option(metavar="N", help="Number of points of a range.")] = 50,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="FOLDER", help="Write theory.svg, curve.parquet and summary.json here."),
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Solve the model of Tang, Wang & Low 2004 over a range of UDP rates; no simulation."""
    from ..io import check_writable, staged
    from ..theory import choke_curve

    if out is not None:
        check_writable(out, FILES)
    done = choke_curve.theory_choke(
        tcp=tcp,
        udp=udp,
        rate=rate,
        rtt=rtt,
        flows=flows,
        packet_size=packet_size,
        min_th=min_th,
        max_th=max_th,
        max_p=max_p,
        candidates=candidates,
        law=law,
        alpha=alpha,
        min_rto=min_rto,
        uniform=uniform,
        points=points,
    )
    if out is not None:
        with staged(out) as folder:
            write_files(folder, done)
    if quiet:
        return
    if as_json:
        print(json.dumps(done.record(), ensure_ascii=False))
    else:
        print_curve(done, out)


@theory.command("candidates", short_help="Print how many candidates CHOKe needs against k unresponsive flows.")
@answers
def theory_candidates(
    flows: Annotated[int, typer.Option(metavar="K", help="From 1 to K unresponsive flows.")] = 10,
    share: Annotated[
        list[float] | None,
        typer.Option(metavar="PERCENT", help="Share of the link that they may not exceed. Repeatable. [50, 25, 10, 5]"),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="FILE", help="Write the chart here, as SVG.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Print how many candidates CHOKe needs so that k equal unresponsive flows together stay below a share of the
    link, however fast they send."""
    from ..io import staged_file
    from ..plot import style
    from ..theory import choke, choke_figures

    if not 1 <= flows <= 100:
        raise Refusal(f"--flows {flows}: must be from 1 to 100")
    percent = share or [50.0, 25.0, 10.0, 5.0]
    for each in percent:
        if not 0.1 <= each < 100:
            raise Refusal(f"--share {each:g}: must be a percentage, from 0.1 to less than 100")
    counts, shares = list(range(1, flows + 1)), [each / 100 for each in percent]
    table = [[choke.candidates_for(k, each, most=10**5) for each in shares] for k in counts]
    if out is not None:
        with staged_file(out) as file:
            file.write_bytes(style.svg(choke_figures.candidates(counts, shares, table)))
    if as_json:
        rows = [
            {"flows": k, "candidates": dict(zip(map(str, shares), row, strict=True))}
            for k, row in zip(counts, table, strict=True)
        ]
        print(json.dumps(rows))
    else:
        print_candidates(counts, shares, table)
        if out is not None:
            print(f"chart in {out}")


def write_files(folder: Path, done: ChokeTheory) -> None:
    """Write `FILES` into a folder that is there. Raises OSError."""
    from ..io import write_json, write_parquet
    from ..plot import style
    from ..theory import choke_figures

    (folder / "theory.svg").write_bytes(style.svg(choke_figures.curve(done)))
    write_parquet(done.table(), folder / "curve.parquet")
    write_json(folder / "summary.json", done.record())


ROWS = 13
"""So many points of a curve are printed; all are in curve.parquet and in the JSON."""

NAMES = {
    "reno": "Reno, eq. (43)",
    "simple": "Reno, √(2/p)/(d + τ)",
    "padhye": "Reno with timeouts",
    "vegas": "Vegas",
}


def print_curve(done: ChokeTheory, out: Path | None) -> None:
    """Print some points of the curve, the peak, and how far the model can be trusted there."""
    import numpy as np

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
        f"{done.tcp} TCP flows ({NAMES[done.law]}), {udp}, {fixed(done.rate_bps, factor)} {unit} or "
        f"{done.c:.4g} packets/s; queue in packets"
    )
    print(_peak(done), _limit(done), sep="")
    # The estimate is of one UDP flow, one candidate, and TCP flows whose rate falls with the root of their losses.
    if done.udp == done.candidates == 1 and done.law != "vegas" and done.tcp < 2 * done.least_flows:
        print(
            f"warning: CHOKe needs about {fixed(done.least_flows)} TCP flows to stay active here (Sec. VI); near that "
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
    greatest = fixed(_known(top, "udp_share"), 0.01)
    return f"UDP's share is greatest, {greatest} %, at {top['udp_load']:.3g} of the link's rate{end}; "


def _limit(done: ChokeTheory) -> str:
    """What UDP can have at most."""
    from ..theory import choke

    most = choke.worst_share(done.udp, done.candidates)
    if most < 1:
        theorem = "" if done.udp == done.candidates == 1 else ", generalised"
        return f"with many TCP flows UDP never has more than {fixed(most, 0.01)} % (Theorem 1{theorem})"
    enough = next(m for m in range(1, MOST_CANDIDATES) if choke.worst_share(done.udp, m) < 1)
    return f"{done.udp} UDP flows can fill the queue and take the whole link: {enough} candidates prevent that"


MOST_CANDIDATES = 10**4
"""Where the search for them would end: 0.567 for each UDP flow are enough."""


def cells(done: ChokeTheory, index: int, factor: float) -> list[str]:
    """A row of the table."""
    row = done.rows()[index]
    held = "*" if row["held_loss_ratio"] else ""
    return [
        fixed(_known(row, "udp_rate_bps"), factor),
        fixed(_known(row, "udp_share"), 0.01),
        fixed(_known(row, "approximate_udp_share"), 0.01),
        fixed(_known(row, "tcp_throughput_per_flow_bps"), factor),
        fixed(_known(row, "backlog_packets")) + held,
        fixed(_known(row, "queueing_delay_s"), 1e-3),
        fixed(_known(row, "udp_occupancy"), 0.01),
        fixed(_known(row, "tcp_loss_ratio"), 0.01),
    ]


def _known(row: dict[str, float | str | None], name: str) -> float | None:
    value = row[name]
    return value if isinstance(value, float) else None


def print_candidates(counts: list[int], shares: list[float], table: list[list[int | None]]) -> None:
    """Print which number of candidates keeps k flows under each share."""
    header = ["unresponsive flows", *(f"≤ {100 * share:g} %" for share in shares)]
    rows = [[str(k), *("–" if m is None else str(m) for m in row)] for k, row in zip(counts, table, strict=True)]
    print_table(header, rows)
    print("candidates with which these flows in total stay below that share of the link, however fast they send;")
    print("for many TCP flows and a long queue (Theorem 1 for k flows and m candidates)")
