"""The command `replay`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..quantities import fixed
from .common import Json, Out, Quiet, Refusal, Set, answers, app, parse_sets, print_table, progress_bar

if TYPE_CHECKING:
    import polars as pl

    from ..experiments.replay import Replay


@app.command(
    short_help="Replay a capture through a discipline; print what happened to each flow.",
    epilog="""Examples:

\b
sluicegate replay day.pcap --rate "10 Mbit/s" --discipline choke:candidates=2
sluicegate replay day.pcap --rate "10 Mbit/s" --disciplines "drop_tail,fq_codel,pie" -o out/
sluicegate replay day.pcap --rate "10 Mbit/s" --discipline red \\
    --set queue.red.action=mark --write after.pcapng -o out/
zcat day.pcap.gz | sluicegate replay - --rate "1 Gbit/s"
""",
)
@answers
def replay(
    capture: Annotated[
        str,
        typer.Argument(
            metavar="CAPTURE", help="A pcap or pcapng file, or - for standard input (with one discipline only)."
        ),
    ],
    rate: Annotated[str, typer.Option(metavar="RATE", help='Rate of the link, such as "10 Mbit/s".')],
    discipline: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The discipline, parameters after a colon: choke:candidates=2; or path.py:Class. [drop_tail]",
        ),
    ] = None,
    disciplines: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="Several disciplines side by side: red,choke:candidates=2. Not with --write or standard input.",
        ),
    ] = None,
    sets: Set = None,
    seed: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Seed of the discipline and of the flow hash.")
    ] = None,
    length: Annotated[
        str | None, typer.Option(metavar="ip|frame", help="Count the length of the IP packet or of the frame. [ip]")
    ] = None,
    mtu: Annotated[
        int | None,
        typer.Option(
            metavar="BYTES", help="Longest packet; longer ones, merged by a host (TSO, GRO), are split. [1500]"
        ),
    ] = None,
    on_jump: Annotated[
        str | None,
        typer.Option(
            metavar="error|skip|shift",
            help="When times jump 0.5 s back or a day ahead: stop, skip packets, or shift the following times. [error]",
        ),
    ] = None,
    flows: Annotated[
        int | None, typer.Option(metavar="N", help="List at most N flows separately in results. [20000]")
    ] = None,
    write: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the packets that left the link, with their new times, as pcapng. One discipline only.",
        ),
    ] = None,
    out: Out = None,
    top: Annotated[int, typer.Option(min=1, metavar="N", help="Print the N largest flows.")] = 20,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Send the packets of a capture, at their recorded times, through a discipline on a link of the given rate.

    Recorded senders do not react to drops, marks or delay. Exit code 1 when the capture is damaged; the report then
    covers what could be read.
    """
    from ..experiments import replay as replays
    from ..experiments.disciplines import choices
    from ..io import check_writable, staged

    if discipline is not None and disciplines is not None:
        raise Refusal("--discipline is one discipline, --disciplines are several: give one of the two")
    if out is not None:
        check_writable(out, [*replays.file_names(), *replays.DRAWN])
    times = 1 if disciplines is None else len(choices(disciplines))
    size = os.path.getsize(capture) if os.path.isfile(capture) else None
    with progress_bar(quiet) as bar:
        update = False if bar is None else lambda read, packets: bar(read, size and times * size, f"{packets} packets")
        done = replays.replay(
            capture,
            rate=rate,
            queue=discipline,
            disciplines=disciplines,
            seed=seed,
            length=length,
            mtu=mtu,
            on_jump=on_jump,
            flows=flows,
            write=write,
            sets=parse_sets(sets),
            progress=update,
        )
        if out is not None:
            with staged(out, done.absent()) as folder:
                replays.write_files(folder, done)
    if as_json and not quiet:
        print(json.dumps({"flows": done.flows.to_dicts(), "links": done.links.to_dicts(), "summary": done.summary}))
    elif not quiet:
        print_replay(done, top, [place for place in (write, out) if place is not None])
    if done.damage is not None:
        print(f"error: {capture}: {done.damage}", file=sys.stderr)
        raise typer.Exit(1)


def print_replay(done: Replay, top: int, places: Sequence[Path]) -> None:
    """Print the largest flows, the sum of the rest, the link, and what was odd about the capture; of several
    disciplines what each did at the link, and the largest flows side by side."""
    if len(done.disciplines) > 1:
        print_beside(done, top)
    else:
        print_one(done, top)
    for remark in done.remarks():
        print(f"warning: {remark}")
    print(f"note: {done.summary['note']}")
    for place in places:
        print(f"results in {place}")


def print_beside(done: Replay, top: int) -> None:
    """Print what each discipline did at the link, and loss and delay of the largest flows under each."""
    from ..experiments.replay_page import beside, links

    table = links(done.links)
    print_table(list(table.head), [list(row) for row in table.rows], whole=True)
    for title, found in beside(done.flows, done.disciplines, top):
        print(title)
        print_table(list(found.head), [list(row) for row in found.rows], whole=True)


def print_one(done: Replay, top: int) -> None:
    """Print what happened to the largest flows and at the link."""
    flows = done.flows
    drops = [column for column in drop_columns(flows) if flows[column].sum()]
    rows = rows_of(flows, top)
    header = [
        "flow",
        "packets",
        "kB",
        "delivered",
        *(column.removeprefix("drops_") for column in drops),
        "loss %",
        "marked",
    ]
    header += ["delay ms", "p95 ms", "p99 ms"]
    print_table(header, [cells(row, drops) for row in rows], whole=True)
    [link] = done.links.to_dicts()
    print(
        f"{link['discipline']} at {fixed(link['rate_bps'], 1e3)} kbit/s for {link['duration_s']:.3f} s: "
        f"{link['arrivals_packets']} packets arrived, {link['departures_packets']} sent on, "
        f"{link['drops_packets']} dropped, {link['marked_packets']} marked; "
        f"utilisation {fixed(link['utilisation'], 0.01)} %, queue {fixed(link['queue_packets_mean'])} packets "
        f"(longest {link['queue_packets_max']}), queueing delay {fixed(link['queueing_delay_mean_ns'], 1e6)} ms"
    )
    if link["left_packets"]:
        print(f"note: the queue kept {link['left_packets']} packets to the end")


def drop_columns(flows: pl.DataFrame) -> list[str]:
    """The columns of drops by reason."""
    return [
        name for name in flows.columns if name.startswith("drops_") and name not in ("drops_packets", "drops_bytes")
    ]


def rows_of(flows: pl.DataFrame, top: int) -> list[dict[str, Any]]:
    """The largest flows by bytes, the rest of them as one row, and the groups."""
    import polars as pl

    single = flows.filter(pl.col("kind") == "flow").sort("arrivals_bytes", "flow", descending=[True, False])
    rows = single.head(top).to_dicts()
    rest = single.slice(top)
    if not rest.is_empty():
        rows.append(summed(rest, f"{rest.height} smaller flows"))
    return rows + flows.filter(pl.col("kind") != "flow").to_dicts()


def summed(rest: pl.DataFrame, name: str) -> dict[str, Any]:
    """Several rows as one. Percentiles do not add up, and are left out."""
    import polars as pl

    counts = [column for column, kind in rest.schema.items() if kind == pl.Int64 and column not in ("flow", "key")]
    row: dict[str, Any] = rest.select(pl.col(counts).sum()).to_dicts()[0]
    waited = (rest["queueing_delay_mean_ns"] * rest["delivered_packets"]).sum()
    mean = waited / row["delivered_packets"] if row["delivered_packets"] else None
    ratio = row["drops_packets"] / row["arrivals_packets"]
    missing = {"queueing_delay_p95_ns": None, "queueing_delay_p99_ns": None}
    return row | missing | {"name": name, "loss_ratio": ratio, "queueing_delay_mean_ns": mean}


def cells(row: dict[str, Any], drops: Sequence[str]) -> list[str]:
    delays = [fixed(row[f"queueing_delay_{which}_ns"], 1e6) for which in ("mean", "p95", "p99")]
    counts = [str(row["arrivals_packets"]), fixed(row["arrivals_bytes"], 1e3), str(row["delivered_packets"])]
    losses = [*(str(row[column]) for column in drops), fixed(row["loss_ratio"], 0.01)]
    return [row["name"], *counts, *losses, str(row["marked_packets"]), *delays]
