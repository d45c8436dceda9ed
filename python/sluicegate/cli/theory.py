"""The commands below `sluicegate theory`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from .common import Json, Quiet, Refusal, answers, app

theory = typer.Typer(help="What the papers' models say of a link.", no_args_is_help=True)
app.add_typer(theory, name="theory", short_help="What the papers' models say of a link, without a simulation.")


@theory.command(
    "choke",
    short_help="CHOKe at equilibrium: who gets how much, how long the queue is.",
    epilog="""Examples:

\b
sluicegate theory choke --tcp 32 --udp "0.1..10 Mbit/s" --rate "1 Mbit/s" --rtt "100 ms"
sluicegate theory choke --tcp 100 --udp "2 Mbit/s" --flows 5 --candidates 6 \\
    --rate "10 Mbit/s" --rtt "50 ms" --min-th 50 --max-th 500 -o out/
""",
)
@answers
def theory_choke(
    tcp: Annotated[int, typer.Option(metavar="N", help="How many TCP flows.")],
    udp: Annotated[str, typer.Option(metavar="RATE", help='Rate of each UDP flow, or a range: "0.1..10 Mbit/s".')],
    rate: Annotated[str, typer.Option(help='Rate of the link, such as "1 Mbit/s".')],
    rtt: Annotated[str, typer.Option(help="Round trip without queues.")],
    flows: Annotated[int, typer.Option(metavar="K", help="How many UDP flows of that rate.")] = 1,
    candidates: Annotated[int, typer.Option(metavar="M", help="Packets drawn for each arrival.")] = 1,
    packet_size: Annotated[str, typer.Option(help="Length of every packet.")] = "1000 B",
    min_th: Annotated[float, typer.Option(metavar="PACKETS", help="CHOKe compares from here on.")] = 20,
    max_th: Annotated[float, typer.Option(metavar="PACKETS", help="Every arrival is dropped from here on.")] = 520,
    max_p: Annotated[float, typer.Option(help="Congestion drops as the queue reaches max_th.")] = 0.5,
    law: Annotated[str, typer.Option(metavar="NAME", help="What TCP follows: reno, simple, padhye, vegas.")] = "reno",
    alpha: Annotated[float, typer.Option(metavar="PACKETS", help="Vegas: what each flow keeps queued.")] = 3.0,
    min_rto: Annotated[str, typer.Option(help="padhye: the least timeout.")] = "200 ms",
    uniform: Annotated[
        bool, typer.Option("--uniform", help="Congestion drops as the simulator spaces them: 2p/(1 + p), not p.")
    ] = False,
    points: Annotated[int, typer.Option(metavar="N", help="Points of a range.")] = 50,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Write theory.svg, curve.parquet and summary.json here.")
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Solve the model of Tang, Wang & Low 2004 over a range of UDP rates; no simulation."""
    from .. import io as files
    from ..theory import choke_curve as choke_theory
    from . import theory_text as choke_theory_text

    if out is not None:
        files.check_writable(out, choke_theory.FILES)
    done = choke_theory.theory_choke(
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
        done.write(out)
    if quiet:
        return
    if as_json:
        print(json.dumps(done.record(), ensure_ascii=False))
    else:
        choke_theory_text.show(done, out)


@theory.command("candidates", short_help="How many candidates CHOKe needs against k unresponsive flows.")
@answers
def theory_candidates(
    flows: Annotated[int, typer.Option(metavar="K", help="Up to so many unresponsive flows.")] = 10,
    share: Annotated[
        list[float] | None, typer.Option(metavar="PERCENT", help="Share of the link to stay under. Repeatable.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="FILE", help="Write the chart here, as SVG.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Candidates needed so that k like unresponsive flows stay under a share of the link, whatever they send."""
    from .. import io as files
    from ..plot import choke_theory as choke_theory_plot
    from ..plot import style as plot
    from ..theory import choke
    from . import theory_text as choke_theory_text

    if not 1 <= flows <= 100:
        raise Refusal(f"--flows {flows}: must be from 1 to 100")
    percent = share or [50.0, 25.0, 10.0, 5.0]
    for each in percent:
        if not 0.1 <= each < 100:
            raise Refusal(f"--share {each:g}: must be a percentage, from 0.1 to less than 100")
    counts, shares = list(range(1, flows + 1)), [each / 100 for each in percent]
    table = [[choke.candidates_for(k, each, most=10**5) for each in shares] for k in counts]
    if out is not None:
        with files.staged_file(out) as file:
            file.write_bytes(plot.svg(choke_theory_plot.candidates(counts, shares, table)))
    if as_json:
        rows = [
            {"flows": k, "candidates": dict(zip(map(str, shares), row, strict=True))}
            for k, row in zip(counts, table, strict=True)
        ]
        print(json.dumps(rows))
    else:
        choke_theory_text.show_candidates(counts, shares, table)
        if out is not None:
            print(f"chart in {out}")
