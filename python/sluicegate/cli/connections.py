"""The command `connections`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from ..quantities import did_you_mean
from .common import Json, Quiet, Refusal, answers, app

FORMATS = ["original", "alternate"]


@app.command(
    short_help="Describe a file of connection vectors, or convert it to the other format.",
    epilog="""Examples:

\b
sluicegate connections link.cvec
sluicegate connections link.cvec --format alternate -o link-alt.cvec
""",
)
@answers
def connections(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Connection vectors, in either text format of tmix.")],
    format: Annotated[
        str | None,
        typer.Option(
            metavar="original|alternate", help="Convert to this format: original (SEQ, CONC) or alternate (S, C)."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="FILE", help="With --format: write here. [standard output]")
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Check a file of connection vectors and describe it; with --format, convert it."""
    from ..traffic.connections import vectors

    if format is not None and format not in FORMATS:
        raise Refusal(f"--format {format}: no such format{did_you_mean(format, FORMATS)}")
    if out is not None and format is None:
        raise Refusal("-o: say in which format: --format original or --format alternate")
    found = vectors(file)
    if format is not None:
        if out is None:
            sys.stdout.write(found.text(format))
            return
        found.write(out, format)
    if quiet:
        return
    if as_json:
        print(json.dumps(found.record(), ensure_ascii=False))
        return
    sequential = found.connections - found.concurrent
    print(
        f"{file}: {found.format} format, {counted(found.connections, 'connection')} in {found.last_start_ns / 1e9:g} s"
    )
    print(f"  {sequential} sequential with {counted(found.exchanges, 'exchange')}, {found.concurrent} concurrent")
    print(f"  initiators send {counted(found.initiator_units, 'application data unit')}, {found.initiator_bytes} B")
    print(f"  acceptors send {counted(found.acceptor_units, 'application data unit')}, {found.acceptor_bytes} B")
    if out is not None:
        print(f"written in the {format} format: {out}")


def counted(count: int, what: str) -> str:
    """A number and what it is of."""
    return f"{count} {what}{'' if count == 1 else 's'}"
