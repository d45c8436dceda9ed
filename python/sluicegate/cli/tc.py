"""The command `tc`."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Annotated

import typer

from ..quantities import did_you_mean
from .common import File, Json, Lan, Margin, Refusal, Set, Wan, access_line, answers, app, parse_sets


@app.command(
    short_help="Print the commands that deploy a scenario's discipline, on Linux or FreeBSD.",
    epilog="""Examples:

\b
sluicegate tc unresponsive --set queue.discipline=fq_codel --dev eth0
sluicegate tc topology --link second --dev eth0
sluicegate tc dsl --set queue.discipline=cake --wan ppp0
sluicegate tc cable --set queue.discipline=cake --wan eth0 --lan br0 --format networkd
sluicegate tc unresponsive --set queue.discipline=pie --freebsd --dev em0
sluicegate tc unresponsive --set queue.discipline=dcn --bpf --dev eth0 -o out/eth0
""",
)
@answers
def tc(
    file: File,
    dev: Annotated[str, typer.Option(metavar="NAME", help="The interface to name in the commands.")] = "DEV",
    sets: Set = None,
    link: Annotated[
        str | None, typer.Option(metavar="NAME", help="The scenario's link, if it has several. [bottleneck]")
    ] = None,
    wan: Wan = None,
    lan: Lan = None,
    margin: Margin = None,
    cake_mq: Annotated[
        bool, typer.Option("--cake-mq", help="CAKE in each transmit queue of the interface (Linux 7.0 or newer).")
    ] = False,
    form: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="NAME",
            help="Write for tc, networkd, nixos, openwrt (SQM), networkmanager or systemd (a unit).",
        ),
    ] = "tc",
    freebsd: Annotated[
        bool, typer.Option("--freebsd", help="Print lines for FreeBSD's dummynet: dnctl and ipfw.")
    ] = False,
    bpf: Annotated[
        bool,
        typer.Option("--bpf", help="Deploy a queue in BPF (Linux 6.16 or newer); write its object to the folder -o."),
    ] = False,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="FOLDER", help="With --bpf: write the object here.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Print the commands that deploy a scenario's queue discipline. Comments say what will differ from the simulation.

    --wan deploys both directions of an access line. You can paste the output into a root shell or pass it to sh: it
    stops at the first error. Exit code 2 when the system does not have the discipline.
    """
    from .. import scenario
    from ..deploy import Undeployable, access, dummynet, formats, linux, linux_bpf
    from ..deploy.target import Position, find_link, interface
    from ..experiments import suited
    from ..experiments.margin import shapers
    from ..io import staged
    from ..traffic.paths import REVERSE

    if bpf and freebsd:
        raise Refusal("--bpf is for Linux: leave out --freebsd")
    if bpf != (out is not None):
        raise Refusal(
            "-o FOLDER is only for --bpf, which writes an object"
            if out
            else "--bpf writes an object: say where, -o FOLDER"
        )

    if bpf and dev == "DEV":
        raise Refusal("--bpf: the object is named after its interface: say which, --dev NAME")
    line = access_line(wan, lan, margin, cake_mq)
    if form not in formats.FORMATS:
        raise Refusal(f"--format {form}: no such format{did_you_mean(form, formats.FORMATS)}")
    if (freebsd or bpf) and (line is not None or cake_mq or form != "tc"):
        given = "--freebsd" if freebsd else "--bpf"
        raise Refusal(f"{given}: leave out --wan, --cake-mq and --format, which are for Linux's own disciplines; "
                      "--link chooses one direction")  # fmt: skip
    if line is not None and (link is not None or dev != "DEV"):
        raise Refusal("--wan: deploys both directions; leave out --link and --dev")
    try:
        interface(dev)
    except Undeployable as error:
        raise Refusal(f"--dev: {error}") from None
    stated, chosen = parse_sets(sets), list[str]()
    if line is not None:
        # A cake whose bandwidth is not given has that of its shaper in the line.
        warnings.filterwarnings("ignore", "queue.bandwidth: not given", scenario.TrapWarning)
        stated, chosen = suited.completed(file, stated, shapers(line.part(access.DOWN), line.part(REVERSE)))
    resolved = scenario.check(file, sets=stated)
    try:
        if line is not None:
            done = access.lines(resolved, line).remarked(chosen)
        elif bpf:
            linux_bpf.parameters(resolved, link)  # refuses what has no object, though tc has lines
            done = linux_bpf.lines(resolved, dev, link, out)
        elif freebsd:
            done = dummynet.lines(resolved, dev, link)
        else:
            done = linux.lines(resolved, dev, link, Position(multiqueue=cake_mq))
        text = formats.FORMATS[form](done)
        place = find_link(resolved, access.DOWN if line is not None else link)
    except Undeployable as error:
        raise Refusal(f"{file}: {error}") from None
    for doubt in [] if line is None else access.doubts(resolved, line):
        print(f"warning: {doubt}", file=sys.stderr)
    if line is not None and resolved["queue"]["discipline"] == "drop_tail":
        print("warning: drop_tail serves packets as the modem does: calls still wait behind transfers. "
              "--set queue.discipline=cake, or fq_codel, keeps that short", file=sys.stderr)  # fmt: skip
    if out is not None:
        with staged(out) as folder:
            for name, content in done.files.items():
                (folder / name).write_bytes(content)
    if as_json:
        about = {"dev": dev, "link": place.name, "rate_bps": place.rate}
        record = {
            "system": "freebsd" if freebsd else "linux-bpf" if bpf else "linux",
            "discipline": resolved["queue"]["discipline"],
            **(about if line is None else {"wan": line.wan, "lan": line.down}),
            "lines": done.lines,
            "remarks": done.remarks,
        }
        if form != "tc":
            record["text"] = text
        print(json.dumps(record, ensure_ascii=False))
    else:
        print(text, end="")
