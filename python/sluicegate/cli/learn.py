"""The command `learn`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .common import Quiet, Refusal, answers, app, print_table

if TYPE_CHECKING:
    from ..learn.model import Learnt


@app.command(
    short_help="Learn a scenario of a link, its queue and its traffic from captures before and behind the queue.",
    epilog="""Examples:

\b
sluicegate learn lan.pcap wan.pcap -o learnt.toml
sluicegate learn router.pcapng --inside 192.168.0.0/16 -o learnt.toml
""",
)
@answers
def learn(
    captures: Annotated[
        list[str],
        typer.Argument(metavar="CAPTURE...", help="pcap or pcapng files: before the queue, behind it, the way back."),
    ],
    out: Annotated[
        Path, typer.Option("-o", "--out", metavar="FILE", help="Write the scenario here, what it needs beside it.")
    ],
    inside: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PREFIX", help="Addresses at home. Repeatable. [private ones, or the one host that all use]"
        ),
    ] = None,
    on_jump: Annotated[
        str, typer.Option(metavar="error|skip|shift", help="Where times leap: as in a replay.")
    ] = "error",
    keep_addresses: Annotated[
        bool, typer.Option("--keep-addresses", help="Name the addresses of each group in comments.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Simulate what was learnt, and set it beside the captures.")
    ] = False,
    disciplines: Annotated[
        str | None, typer.Option(metavar="LIST", help="With --check or --report, also these, such as fq_codel,cake.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a page with the numbers and the comparison.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Learn rate, framing, buffer, discipline, base round trips and traffic; nothing of what packets carry is kept.

    Senders of the scenario react, those of a replay do not. What captures do not tell is said with its range.
    """
    from ..io import staged_file
    from ..learn import beside, page
    from ..learn.learnt import learn as learn_from
    from ..learn.write import write
    from ..scenario import check as check_scenario

    if disciplines is not None and not (check or report):
        raise Refusal("--disciplines: give --check or --report, too")
    done = learn_from(captures, inside=inside or (), on_jump=on_jump)
    files = write(done, out, keep_addresses)
    check_scenario(out)
    listed = [each.strip() for each in disciplines.split(",")] if disciplines else []
    sides = beside.beside(done, out, listed) if check or report else []
    if report is not None:
        with staged_file(report) as staged:
            staged.write_text(page.page(done, sides, out.read_text("utf-8")).html(), "utf-8")
        files.append(report)
    if quiet:
        return
    print_learnt(done)
    if sides:
        table = page.table(sides)
        print_table(list(table.head), [list(row) for row in table.rows], whole=True)
        for line in page.lines(sides):
            print(line)
    for file in files:
        print(f"written: {file}")


def print_learnt(done: Learnt) -> None:
    """Print what was learnt of the link and who sends what."""
    for way in (done.forward, done.back):
        if way.passage is None or way.told is None:
            continue
        rate, told = way.rate, way.told
        if rate is None:
            print(f"{way.word}: rate not known")
        else:
            kind = "on average, it varies" if rate.trace is not None else f"± {rate.half_width_bps / 1e6:.2g}"
            framing = f", framing {rate.framing}" if rate.framing else ""
            print(f"{way.word}: {rate.bps / 1e6:.5g} Mbit/s {kind}{framing}")
        print(f"  discipline: {' or '.join(told.names) or 'not told'}")
        for each in told.evidence:
            print(f"    {each}")
        full = f"full with {told.buffer.full}" if told.buffer.full else "never seen full"
        print(f"  queue: at most {told.buffer.packets} packets, {told.buffer.bytes} bytes; {full}")
    if done.rtts_ms:
        print(f"base round trips: {min(done.rtts_ms.values()):.2f} to {max(done.rtts_ms.values()):.2f} ms")
    for group in done.groups:
        print(f"{group.name}: {group.kind}, {'down' if group.down else 'up'}, {group.count}: {group.said}")
    for unknown in done.unknown:
        print(f"not known: {unknown.key}, {unknown.low} to {unknown.high}: {unknown.why}")
    for remark in done.remarks:
        print(f"warning: {remark}")
