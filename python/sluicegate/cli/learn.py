"""The command `learn`."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .common import Quiet, Refusal, answers, app, check_new, print_table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..learning.beside import Side
    from ..learning.measurements import Measured
    from ..learning.model import Learnt, Unknown


@app.command(
    short_help="Learn a scenario from captures of a link, or from measurements of an access line.",
    epilog="""Examples:

\b
sluicegate learn lan.pcap wan.pcap -o learnt.toml
sluicegate learn router.pcapng --inside 192.168.0.0/16 -o learnt.toml
sluicegate learn rrul.flent.gz ping.txt iperf3.json --access fibre -o learnt.toml
sluicegate learn --down "93 Mbit/s" --up "18 Mbit/s" --rtt "19 ms" --rtt-up "340 ms" -o learnt.toml
""",
)
@answers
def learn(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE...",
            help="Captures, pcap or pcapng, taken before and after the queue, in both directions if you have them; or "
            "results of iperf3 -J, Flent, ping, irtt, tc -s -j qdisc, networkQuality -c.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            metavar="FILE",
            help="Write the scenario here, and files it needs next to it. [with measurements only: standard output]",
        ),
    ] = None,
    inside: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PREFIX", help="Home addresses. Repeatable. [the host in all connections, else private addresses]"
        ),
    ] = None,
    on_jump: Annotated[
        str,
        typer.Option(metavar="error|skip|shift", help="When times jump: stop, skip packets or shift, as in `replay`."),
    ] = "error",
    keep_addresses: Annotated[
        bool, typer.Option("--keep-addresses", help="Write the addresses and servers of each group into comments.")
    ] = False,
    down: Annotated[str | None, typer.Option(metavar="RATE", help="Download rate in a speed test.")] = None,
    up: Annotated[str | None, typer.Option(metavar="RATE", help="Upload rate in a speed test.")] = None,
    rtt: Annotated[str | None, typer.Option(metavar="TIME", help="Round trip without load.")] = None,
    rtt_down: Annotated[str | None, typer.Option(metavar="TIME", help="Round trip during a download.")] = None,
    rtt_up: Annotated[str | None, typer.Option(metavar="TIME", help="Round trip during an upload.")] = None,
    ping_down: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Log of ping, written during a download.")
    ] = None,
    ping_up: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A log of ping that was written during an upload.")
    ] = None,
    access: Annotated[
        str | None, typer.Option(metavar="KIND", help="Without captures: kind of line, as for `new home`. [docsis]")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Simulate the learnt scenario, and compare it with the captures.")
    ] = False,
    disciplines: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help='With --check or --report: simulate these too, such as "fq_codel,cake:bandwidth=19 Mbit/s".',
        ),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a page with the numbers and the comparison.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Learn rate, framing, buffer, discipline, base round trips and traffic of a link; write them as a scenario.

    Unlike in a replay, the scenario's senders react to drops, marks and delay. Payload is not kept. Values that
    captures do not determine are printed with their range. Measurements give rates, round trips and buffer of an access
    line; its users are then those of `new home`.
    """
    from ..experiments.disciplines import choices
    from ..io import staged_file
    from ..learning.learnt import learn as learn_from
    from ..learning.line import fill, from_measurements
    from ..learning.measurements import DOWN, QUEUE_DOWN, QUEUE_UP, RTT, UP, is_measurement
    from ..learning.write import write
    from ..scenario import check as check_scenario

    check_new(out)
    logs = [(file, way) for file, way in ((ping_down, QUEUE_DOWN), (ping_up, QUEUE_UP)) if file is not None]
    texts = [file for file in files or () if is_measurement(file)]
    captures = [file for file in files or () if file not in texts]
    if captures:
        loads = {"--rtt-down": rtt_down, "--rtt-up": rtt_up, "--ping-down": ping_down, "--ping-up": ping_up}
        if name := next((name for name, given in loads.items() if given is not None), None):
            raise Refusal(f"{name} is only for measurements: leave it out; captures show what waits in the queue")
    measured = by_hand({DOWN: down, UP: up, RTT: rtt, QUEUE_DOWN: rtt_down, QUEUE_UP: rtt_up}, texts, logs)
    if not captures and not measured.readings and not measured.shapers:
        raise Refusal("name captures or results of measurements, or give --down and --up")
    if captures and access is not None:
        raise Refusal("--access is only for measurements: leave it out; captures show the framing")
    if not captures:
        for name, asked in {"--check": check, "--report": report, "--inside": inside}.items():
            if asked:
                raise Refusal(f"{name} is only for captures: leave it out")
        told = from_measurements(measured, access=access or "docsis")
        check_scenario(told.text)
        if out is None:
            for remark in told.remarks:
                print(f"warning: {remark}", file=sys.stderr)
            print(told.text, end="")
            return
        with staged_file(out) as staged:
            staged.write_text(told.text, "utf-8")
        if not quiet:
            print("\n".join(told.said))
            print_unknown(told.unknown, told.remarks)
            print(f"written: {out}")
        return
    if out is None:
        raise Refusal("say where to write the scenario, and files it needs next to it: -o FILE")
    if disciplines is not None and not (check or report):
        raise Refusal("--disciplines: give --check or --report, too")
    listed = [each.label for each in choices(disciplines)] if disciplines else []
    done = learn_from(captures, inside=inside or (), on_jump=on_jump)
    fill(done, measured)
    written = write(done, out, keep_addresses)
    check_scenario(out)
    sides: list[Side] = []
    if check or report:
        from ..learning import beside, page  # they need Matplotlib, which takes its memory

        sides = beside.beside(done, out, listed)
    if report is not None:
        with staged_file(report) as staged:
            staged.write_text(page.page(done, sides, out.read_text("utf-8")).html(), "utf-8")
        written.append(report)
    if quiet:
        return
    print_learnt(done)
    if sides:
        table = page.table(sides)
        print_table(list(table.head), [list(row) for row in table.rows], whole=True)
        for line in page.lines(sides):
            print(line)
    for path in written:
        print(f"written: {path}")


def by_hand(
    given: Mapping[str, str | None], files: Sequence[str] = (), loaded: Sequence[tuple[str | Path, str]] = ()
) -> Measured:
    """What is given by hand, the rate of each direction and round trips as texts, and the readings of files; `loaded`:
    as `measurements.read` takes them."""
    from .._core import ScenarioError
    from ..learning import measurements
    from ..learning.measurements import DOWN, QUEUE_DOWN, QUEUE_UP, RTT, UP
    from ..quantities import NUMBER, mistyped, quantity

    numbers: dict[str, float] = {}
    for key, text in given.items():
        if text is not None:
            name = {QUEUE_DOWN: "rtt-down", QUEUE_UP: "rtt-up"}.get(key, key)
            rate = key in (DOWN, UP)
            try:
                value = quantity(f"--{name}", text, "network.rate" if rate else "network.delay")
            except ScenarioError as error:
                alone = re.fullmatch(NUMBER, text.strip())
                hint = f'; did you mean "{text.strip()} {"Mbit/s" if rate else "ms"}"?' if alone else mistyped(text)
                raise Refusal(f"{error}{hint}") from None
            numbers[key] = float(value) if rate else value / 1e6
    done = measurements.read(files, numbers.get(RTT), loaded)
    for key in (QUEUE_DOWN, QUEUE_UP):
        if key in numbers:
            base = min((numbers[RTT],) if RTT in numbers else [each.value for each in done.of(RTT)], default=None)
            option = f"--rtt-{key.partition(' ')[2]}"
            if base is None:
                raise Refusal(f"{option}: must be above a round trip without load: give --rtt too")
            if numbers[key] <= base:
                raise Refusal(f"{option} = {given[key]}: must be above the round trip without load, {base:.4g} ms")
            numbers[key] -= base
    hand = measurements.by_hand({key: (str(given[key]), value) for key, value in numbers.items()})
    done.readings += hand.readings
    return done


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
        print(f"  discipline: {' or '.join(told.names) or 'not determined'}")
        for each in told.evidence:
            print(f"    {each}")
        full = f"was full, its limit is in {told.buffer.full}" if told.buffer.full else "never seen full"
        print(f"  queue: at most {told.buffer.packets} packets, {told.buffer.bytes} bytes; {full}")
    if done.rtts_ms:
        print(f"base round trips: {min(done.rtts_ms.values()):.2f} to {max(done.rtts_ms.values()):.2f} ms")
    for group in done.groups:
        print(f"{group.name}: {group.kind}, {'down' if group.down else 'up'}, {group.count}: {group.said}")
    print_unknown(done.unknown, done.remarks)


def print_unknown(unknown: Sequence[Unknown], remarks: Sequence[str]) -> None:
    """Print what is not known, and what is to be known of the files."""
    for each in unknown:
        print(f"not known: {each.key}, {each.low} to {each.high}: {each.why}")
    for remark in remarks:
        print(f"warning: {remark}")
