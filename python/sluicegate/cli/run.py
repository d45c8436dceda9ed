"""The command `run`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ..quantities import fixed, rate_digits, rate_unit, users_text
from . import exports
from .common import File, Json, Out, Quiet, Seed, Set, answers, app, parse_sets, print_lines, print_table, progress_bar

if TYPE_CHECKING:
    import polars as pl

    from ..results import Run
    from ..theory.choke_overlay import Overlay


DRAWN = ("run.svg", "report.html")
"""What -o writes besides tables and summary."""

THEORY_FILES = ("theory.json", "theory.svg")
"""What --with-theory writes besides."""

HEAVY_FLOWS = 5
"""How many flows with a disproportionate share of drops are named."""


@app.command(short_help="Simulate a scenario; print tables, write results.")
@answers
def run(
    file: File,
    sets: Set = None,
    seed: Seed = None,
    out: Out = None,
    pcap: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LINK[=FILE]",
            help="Write the packets that LINK sends as pcapng, to FILE or with -o to LINK.pcapng. Repeatable.",
        ),
    ] = None,
    flent: Annotated[
        Path | None, typer.Option(metavar="FILE.flent.gz", help="Write the TCP streams for Flent's plots.")
    ] = None,
    qlog: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FLOW[=FILE]",
            help="Write a TCP flow's congestion state as qlog, to FILE or with -o to flow-FLOW.sqlog. Repeatable.",
        ),
    ] = None,
    qlog_draft: Annotated[
        Literal["current", "0.3"], typer.Option(metavar="current|0.3", help="The draft of qlog; qvis reads 0.3.")
    ] = "current",
    time_sequence: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FLOW[=FILE]",
            help="Draw a TCP flow's packets over time, to FILE (.svg, .png, .pdf) or with -o to flow-FLOW.svg; "
            "needs run.packets. Repeatable.",
        ),
    ] = None,
    with_theory: Annotated[
        bool, typer.Option("--with-theory", help="Compare with the CHOKe model (single CHOKe bottleneck only).")
    ] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Simulate a scenario; print a table of its groups of flows and a line for each link. -o writes the results."""
    from .. import results, scenario
    from ..experiments.run import run_read
    from ..io import check_writable, staged

    asked, captured = exports.parse(flent, qlog, time_sequence), exports.parse_pcap(pcap, out)
    if out is not None:
        own = [*results.file_names(), *DRAWN, *(THEORY_FILES if with_theory else ())]
        check_writable(out, [*own, *exports.names([*asked, *captured])])
    exports.check_places([*asked, *captured], out, own if out is not None else ())
    about = scenario.subject(file, sets=parse_sets(sets), seed=seed)
    read = scenario.read(about.text(), about.name, about.sets)
    title = Path(about.name)
    if with_theory:
        from ..theory import choke_overlay

        choke_overlay.check(read.resolved, file)
    exports.check(asked, read.resolved, out)
    with exports.staged(asked, qlog_draft) as exported, progress_bar(quiet) as bar:
        update = False if bar is None else lambda now, end, _packets: bar(now, end, title.name)
        if captured and out is not None:  # the captures appear together with the tables
            empty: list[str] = []
            with staged(out, empty) as folder:
                captures = exports.captures(captured, folder)
                result = run_read(read, update, captures)
                theory = choke_overlay.overlay(result) if with_theory else None
                write_files(folder, result, theory)
                exported.write(result, folder, title.stem)
                empty += result.absent()
        else:
            captures = exports.captures(captured, None)
            result = run_read(read, update, captures)
            theory = choke_overlay.overlay(result) if with_theory else None
            if out is not None:
                with staged(out, result.absent()) as folder:
                    write_files(folder, result, theory)
                    exported.write(result, folder, title.stem)
            else:
                exported.write(result, None, title.stem)
    if quiet and not as_json:
        return
    if as_json:
        record = {"groups": groups(result), "links": result.links.to_dicts(), "summary": result.summary}
        record["heavy_flows"] = results.heavy_flows(result.flows)
        print(json.dumps(record | ({} if theory is None else {"theory": theory.record()})))
    else:
        print_run(result, theory, out)


def check_results(out: Path | None) -> None:
    """Check, before a run, that its results can be written. Raises OSError."""
    from .. import io, results

    if out is not None:
        io.check_writable(out, [*results.file_names(), *DRAWN])


def write_results(out: Path | None, result: Run) -> None:
    """Write what a run gave into a folder, whole or not at all."""
    from ..io import staged

    if out is not None:
        with staged(out, result.absent()) as folder:
            write_files(folder, result)


def write_files(folder: Path, result: Run, theory: Overlay | None = None) -> None:
    """Write what a run gave, drawn too, and the theory beside it if there is one, into a folder that is there."""
    from ..io import write_json
    from ..plot import style

    result.write_files(folder)
    (folder / "run.svg").write_bytes(style.svg(result.plot()))
    (folder / "report.html").write_text(result.html(), encoding="utf-8")
    if theory is not None:
        from ..theory import overlay_figure

        write_json(folder / "theory.json", theory.record())
        (folder / "theory.svg").write_bytes(style.svg(overlay_figure.overlay(theory)))


def groups(result: Run) -> list[dict[str, Any]]:
    """One row for each group of flows: the row of the table `groups`, and its throughput per flow.

    There is none where connections come and go: the table counts those of an entry as one.
    """
    return [
        row | {"throughput_per_flow_bps": None if row["opened_connections"] else row["throughput_bps"] / row["flows"]}
        for row in result.groups.to_dicts()
    ]


def print_run(result: Run, theory: Overlay | None, out: Path | None) -> None:
    """Print the groups of flows, the links, who has a large share of the marks, and the theory if there is one."""
    from ..results.run_page import varying

    found = groups(result)
    unit, factor = rate_unit(max(row["throughput_bps"] for row in found))
    columns: list[tuple[str, Callable[[dict[str, Any]], str]]] = [
        ("group", lambda row: row["name"]),
        ("flows", lambda row: str(row["flows"]) if row["users"] is None else users_text(row["users"])),
        (f"throughput\n{unit}", lambda row: fixed(row["throughput_bps"], 1 / factor, rate_digits(factor))),
        (f"per flow\n{unit}", lambda row: fixed(row["throughput_per_flow_bps"], 1 / factor, rate_digits(factor))),
        ("loss\n%", lambda row: fixed(row["loss_ratio"], 0.01)),
        ("delay ms\nmean", lambda row: fixed(row["delay_mean_ns"], 1e6)),
        ("\np50", lambda row: fixed(row["delay_p50_ns"], 1e6)),
        ("\np95", lambda row: fixed(row["delay_p95_ns"], 1e6)),
        ("\np99", lambda row: fixed(row["delay_p99_ns"], 1e6)),
    ]
    for head, name in (("whole ms\np50", "completion_time_p50_ns"), ("response\nms, p50", "response_time_p50_ns"),
                       ("response\nms, p99", "response_time_p99_ns")):  # fmt: skip
        if any(row[name] is not None for row in found):
            columns.append((head, lambda row, name=name: fixed(row[name], 1e6)))  # type: ignore[misc]
    print_table([head for head, _ in columns], [[cell(row) for _, cell in columns] for row in found], whole=True)
    changing = varying(result.summary["scenario"])
    for link in result.links.filter(result.links["arrivals_packets"] > 0).to_dicts():
        average = (
            f"; the discipline's average {fixed(link['average_packets_min'])}–{fixed(link['average_packets_max'])}"
            if link["average_packets_mean"] is not None
            else ""
        )
        share = link["lost_packets"] / link["arrivals_packets"]
        lost = f", {fixed(share, 0.01, 2)} % lost on the wire" if share else ""
        print_lines([
            f"{link['link']}: {link['discipline']} at {fixed(link['rate_bps'], 1e3)} kbit/s"
            f"{' on average' if link['link'] in changing else ''}, "
            f"utilisation {fixed(link['utilisation'], 0.01)} %, queue {fixed(link['queue_packets_mean'])} packets "
            f"(longest {link['queue_packets_max']:.0f}{average}), "
            f"queueing delay {fixed(link['queueing_delay_mean_ns'], 1e6)} ms{lost}"
        ])  # fmt: skip
    print_lines([*responsiveness_lines(result), *heavy_flow_lines(result.flows)])
    if theory is not None:
        print_overlay(theory)
    if out is not None:
        print(f"results in {out}")


def responsiveness_lines(result: Run) -> list[str]:
    """Responsiveness and latency under load, with the scale of its grades; nothing where they are not known."""
    from ..traffic.responsiveness import SCALE, responsiveness

    found = result.groups.to_dicts()
    done = responsiveness(
        result.summary["scenario"],
        {row["name"]: row["delay_mean_ns"] for row in found},
        {row["name"]: row["throughput_bps"] for row in found},
        {row["link"]: row["queueing_delay_mean_ns"] for row in result.links.to_dicts()},
    )
    return [] if done is None else [f"responsiveness: {done.text()}", SCALE]


def heavy_flow_lines(flows: pl.DataFrame) -> list[str]:
    """The flows with a disproportionate share of recent marks and drops, a line each; nothing when there are none."""
    from ..results import heavy_flows

    found = heavy_flows(flows)
    if not found:
        return []
    lines = ["flows with a disproportionate share of the recent marks and random drops (RED 1993, Sec. X):"]
    for row in found[:HEAVY_FLOWS]:
        p = row["recent_p_value"]  # an upper bound
        lines.append(
            f"  flow {row['flow']} ({row['kind']}): {100 * row['recent_share']:.0f} % of the last "
            f"{row['recent_packets']:.0f}; expected {100 * row['recent_expected']:.2g} %; "
            f"{f'p ≤ {p:.1g}' if p >= 1e-12 else 'p < 1e-12'}"
        )
    if len(found) > HEAVY_FLOWS:
        lines.append(f"  and {len(found) - HEAVY_FLOWS} more; see recent_p_value in flows")
    return lines


SCALES = {"bit/s": ("kbit/s", 1e3), "1": ("%", 0.01), "packets": ("packets", 1.0), "s": ("ms", 1e-3)}
"""How a quantity is printed."""


def print_overlay(done: Overlay) -> None:
    """Print what was measured beside what each law gives, and where the model does not hold."""
    rows = []
    for quantity in done.quantities:
        unit, scale = SCALES[quantity.unit]
        whose = "" if quantity.group is None else done.groups[quantity.group]
        values = [quantity.measured, *(quantity.theory[law] for law in done.laws)]
        rows.append([whose, f"{quantity.name} {unit}", *(fixed(value, scale) for value in values)])
    print_table(["flows", "", "measured", *(f"theory: {name}" for name in done.laws.values())], rows)
    for law, name in done.laws.items():
        if refusal := done.refusals[law]:
            print(f"warning: theory, {name}: {refusal}")
        elif held := done.held[law]:
            print(
                f"warning: theory, {name}: the queue is held at max_th, where {fixed(held, 0.01)} % of arrivals are "
                f"dropped before any comparison; the paper's model ends at max_th"
            )
    for warning in done.warnings:
        print(f"warning: theory: {warning}")
