"""The page of a run, made of its summary and tables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import tomli_w

from ..goals import measures
from ..page import Page, Section, Table
from ..quantities import in_base_unit, rate_digits, rate_unit, users_text
from ..traffic import paths

if TYPE_CHECKING:
    import polars as pl

    Tables = Mapping[str, pl.DataFrame]

Row = Mapping[str, Any]
Columns = Sequence[tuple[str, Callable[[Row], str]]]

MOST_LINKS = 3
"""Of more links the first have a sentence."""

LARGEST = 100
"""How many flows have a row, those with the highest throughput first."""

LOST = "lost_packets"

CAPTIONS = {
    "Throughput over time": "IP bits delivered to the receivers of each group in each sampling interval, over the "
    "whole run; and the rate of a link, where it changes.",
    "Queue over time": "Packets in the queue at each sample, without the one in transmission.",
    "One-way delay": "Packets delivered in the measured window: the bar reaches from the median to the 99th percentile "
    "of the group.",
    "Delays of all packets": "Share of a group's delivered packets that took at most a given time, in the measured "
    "window.",
    "Response times": "Share of the exchanges that took at most a given time, in the measured window.",
    "Drops by reason": "Packets that reached a queue under study (one that [queue] manages) in the measured window "
    "and were dropped there, or were lost on the wire behind it.",
}  # fmt: skip


def page(summary: Mapping[str, Any], tables: Tables, heavy: Sequence[Row]) -> Page:
    """The page. `heavy`: the flows with a disproportionate share of marks and drops."""
    from ..plot import animation
    from ..plot import run as figures
    from ..plot.comparison import MOST_GROUPS

    about, totals = summary["scenario"], summary["totals"]
    file = summary["scenario_file"]
    groups_, links_ = tables["groups"], tables["links"]
    warmup_s = in_base_unit(about["run"]["warmup"]) / 1e9
    sections = [
        Section("groups", "Groups of flows", "Over the measured window.", tables=[("", groups(groups_))]),
        Section("links", "Links", "Over the measured window.", tables=[("", links(links_, varying(about)))]),
    ]
    for title in figures.panels(tables):
        more = [("", reasons(groups_, groups_["name"].to_list(), "group"))] if title == "Drops by reason" else []
        more = [each for each in more if each[1].rows]
        id_ = title.lower().replace(" ", "-")
        drawn = figures.alone(tables, title, warmup_s)
        sections.append(Section(id_, title, CAPTIONS[title], figure=drawn, tables=more))
    for link in tables["positions"]["link"].unique(maintain_order=True).to_list():
        words = (
            "The flow at each position, sample by sample, in a loop. The head is at the top left; at most "
            f"{animation.MOST_PLACES} positions are drawn. Each packet has the colour of its group."
        )
        drawing = animation.queue(tables["positions"], link, groups_["name"].to_list())
        sections.append(Section(f"queue-{len(sections)}", f"The queue of {link}, moving", words, drawing=drawing))
    if heavy:
        words = (
            "Their share of the most recent marks and random drops is larger than chance explains (RED 1993, Sec. X). "
            "A flow with a shorter round trip or a larger window has a large share, too."
        )
        table = heavy_flows(heavy)
        sections.append(Section("heavy", "Flows with a disproportionate share", words, tables=[("", table)]))
    if tables["flows"].height > 1:
        count = tables["flows"].height
        caption = f"The {LARGEST} with the highest throughput, of {count}." if count > LARGEST else ""
        sections.append(Section("flows", "Flows", caption, tables=[("", flows(tables["flows"]))]))
    unit, factor = rate_unit(totals["throughput_bps"])
    lead = [f"All flows together get {fixed(totals['throughput_bps'], factor)} {unit} over {totals['measured_s']:g} s."]
    live = summary.get("live")
    lead += [
        f"{each['link']} has a utilisation of {percent(each['utilisation'])} % and drops "
        f"{percent(ratio(each))} % of the packets that reach it"
        f"{f', its wire loses {percent(ratio(each, LOST))} %' if each[LOST] else ''}; its queueing delay is "
        f"{ms(each['queueing_delay_mean_ns'])} ms on average, {ms(each['queueing_delay_p99_ns'])} ms at the 99th "
        f"percentile."
        for each in links_.head(MOST_LINKS).to_dicts() if each["utilisation"] is not None
    ]  # fmt: skip
    notes = [] if tables["flow_series"].height else ["This run kept no series over time (run.series)."]
    if groups_.height > MOST_GROUPS:
        notes.append(f"Figures show the first {MOST_GROUPS} of {groups_.height} groups.")
    run = about["run"]
    if live:
        sections.insert(2, real_packets(live))
        notes += remarks(summary)
        if "queues" in live:  # a shell or a bridge: nothing of [run] holds for it
            about = {key: value for key, value in about.items() if key != "run"}
    provenance = {
        "Sluicegate": summary["version"],
        "Scenario": file,
        "Discipline": ", ".join(dict.fromkeys(links_["discipline"].to_list())) or about["queue"]["discipline"],
        "Duration": f"{run['duration']}, the first {run['warmup']} not measured",
        "Seed": str(summary["seed"]),
        "Events": f"{summary['events']}",
    }
    title = f"Run of {file.removesuffix('.toml')}" if file.endswith(".toml") else "Run of a scenario from Python"
    if live:
        title = "Real packets over an emulated link"
        del provenance["Events"]
        provenance |= {"Duration": f"{live['duration_s']:g} s", "Kernel": live["kernel"]}
    subtitle = f"{provenance['Discipline']}; seed {summary['seed']}"
    return Page(title, subtitle, sections, provenance, lead, notes, toml(about))


def groups(table: pl.DataFrame) -> Table:
    """One row for each group of flows."""
    rows = table.to_dicts()
    unit, factor = rate_unit(max((row["throughput_bps"] for row in rows), default=0.0))
    columns: list[tuple[str, Callable[[Row], str]]] = [
        ("group", lambda row: row["name"]),
        ("kind", kind),
        ("flows", lambda row: str(row["flows"]) if row["users"] is None else users_text(row["users"])),
        (f"throughput {unit}", lambda row: fixed(row["throughput_bps"], factor, rate_digits(factor))),
        ("loss %", lambda row: percent(row["loss_ratio"])),
        *((f"delay {name} ms", lambda row, key=key: ms(row[f"delay_{key}_ns"]))
          for name, key in (("mean", "mean"), ("p50", "p50"), ("p95", "p95"), ("p99", "p99"))),
    ]  # fmt: skip
    if table["marked_packets"].sum():
        columns.append(("marked %", lambda row: percent(ratio(row, "marked_packets"))))
    for what, which in (("completion", "p50"), ("completion", "p95"), ("response", "p50"), ("response", "p99")):
        head, key = f"{what} {which} ms", f"{what}_time_{which}_ns"
        if table[key].null_count() < table.height:
            columns.append((head, lambda row, key=key: ms(row[key])))  # type: ignore[misc]
    return made(rows, columns, 2)


def links(table: pl.DataFrame, varying: Collection[str] = ()) -> Table:
    """One row for each link under study; the rates of the `varying` ones are means."""
    columns: Columns = [
        ("link", lambda row: row["link"]),
        ("discipline", lambda row: row["discipline"]),
        ("rate Mbit/s", lambda row: f"{row['rate_bps'] / 1e6:.3g}{' on average' if row['link'] in varying else ''}"),
        ("utilisation %", lambda row: percent(row["utilisation"])),
        ("arrivals", lambda row: str(row["arrivals_packets"])),
        ("dropped %", lambda row: percent(ratio(row))),
        *(
            [("lost on the wire %", lambda row: percent(ratio(row, "lost_packets")))]
            if table["lost_packets"].sum()
            else []
        ),
        ("marked %", lambda row: percent(ratio(row, "marked_packets"))),
        ("queue mean", lambda row: fixed(row["queue_packets_mean"])),
        ("queue max", lambda row: str(row["queue_packets_max"])),
        ("queueing delay mean ms", lambda row: ms(row["queueing_delay_mean_ns"])),
        ("p99 ms", lambda row: ms(row["queueing_delay_p99_ns"])),
    ]
    return made(table.to_dicts(), columns, 2)


def varying(scenario: Mapping[str, Any]) -> set[str]:
    """The links of a resolved scenario whose rate changes during the run."""
    known = paths.links(scenario)
    found = {link.name for link in known if link.varies}
    for change in scenario.get("changes", ()):
        match change["key"].split("."):
            case ["network", "rate"]:
                found.add(known[0].name)
            case ["network", "reverse", "rate"]:
                found.add(known[1].name)
            case ["network", "links", at, "rate"]:
                found.add(known[int(at)].name)
    return found


def reasons(table: pl.DataFrame, labels: Sequence[str], head: str) -> Table:
    """Packets lost by reason, and marked, a row for each of `labels`."""
    found = measures.reasons(table)
    rows = [row | {"label": label} for row, label in zip(table.to_dicts(), labels, strict=True)]
    if not found and not table["marked_packets"].sum():
        return Table((), ())
    columns: Columns = [
        (head, lambda row: row["label"]),
        ("arrivals", lambda row: str(row["arrivals_packets"])),
        ("dropped", lambda row: str(row["drops_packets"])),
        *((reason, lambda row, name=name: str(row[name])) for name, reason in found),
        ("marked", lambda row: str(row["marked_packets"])),
    ]
    return made(rows, columns, 1)


def heavy_flows(rows: Sequence[Row]) -> Table:
    """One row for each flow with a disproportionate share."""
    columns: Columns = [
        ("flow", lambda row: f"{row['flow']}, {row['kind']}"),
        ("link", lambda row: row["link"]),
        ("share %", lambda row: f"{100 * row['recent_share']:.0f}"),
        ("expected %", lambda row: f"{100 * row['recent_expected']:.2g}"),
        ("packets counted", lambda row: f"{row['recent_packets']:.0f}"),
        ("p", lambda row: f"≤ {row['recent_p_value']:.1g}" if row["recent_p_value"] >= 1e-12 else "< 1e-12"),
    ]
    return made(rows, columns, 2)


def flows(table: pl.DataFrame) -> Table:
    """One row for each flow, those with the highest throughput first."""
    rows = table.sort("throughput_bps", "flow", descending=[True, False]).head(LARGEST).to_dicts()
    unit, factor = rate_unit(max((row["throughput_bps"] for row in rows), default=0.0))
    named = "flow_name" in table.columns
    columns: Columns = [
        ("flow", lambda row: row["flow_name"] if named else str(row["flow"])),
        ("group", lambda row: row["name"]),
        ("kind", kind),
        (f"throughput {unit}", lambda row: fixed(row["throughput_bps"], factor, rate_digits(factor))),
        ("loss %", lambda row: percent(row["loss_ratio"])),
        ("delay p50 ms", lambda row: ms(row["delay_p50_ns"])),
        ("p99 ms", lambda row: ms(row["delay_p99_ns"])),
        *(
            (head, lambda row, name=name: str(row[name]))
            for head, name in (("sent again", "retransmissions"), ("timeouts", "timeouts"))
            if name in table.columns
        ),
    ]
    return made(rows, columns, 3)


def kind(row: Row) -> str:
    """What a row's packets are: the kind of source or protocol, and the congestion control where it is known."""
    return " ".join(filter(None, (row["kind"], row.get("algorithm"))))


def real_packets(live: Row) -> Section:
    """How well the clock was kept, and what no queue dropped and yet was lost. `live`: of the summary."""
    late = f"{live['late_packets']} of {live['packets']}"
    clock = Table(
        ("packets forwarded late", "median ms", "99th percentile ms", "latest ms", "by more than 1 ms"),
        (("", *(ms(live[f"lateness_{which}_ns"]) for which in ("p50", "p99", "max")), late),),
        4,
    )
    heads = {"device_packets": "by its device", "unreadable_packets": "unreadable",
             "datagrams": "datagrams, by a socket", "segments": "segments, by a socket",
             "refused_packets": "refused by its kernel"}  # fmt: skip
    ends = tuple((each["end"], *(str(each[key]) for key in heads)) for each in live["losses"])
    trusted = "The machine kept up." if live["kept_up"] else "The machine did not keep up: the results are flagged."
    ended = f", exit code {live['exit_code']}" if "exit_code" in live else ""
    words = (
        f"Kernel {live['kernel']}; {'the command' if ended else 'it'} ended after {live['duration_s']:g} s{ended}. "
        f"{trusted} At the end {live['under_way_packets']} packets were still in queues or in transit."
    )
    tables = [("Clock", clock), ("Lost outside the queues", Table(("end", *heads.values()), ends, len(heads)))]
    return Section("real-packets", "Real packets", words, tables=tables)


LOST_OUTSIDE = {
    "device_packets": "{n} packets were lost by the device at the {end}, outside Sluicegate's queues",
    "unreadable_packets": "{n} packets from the {end} could not be read: empty, or merged and impossible to split",
    "datagrams": "{n} datagrams found the buffer of their socket full at the {end}",
    "segments": "{n} TCP segments found the backlog or the buffer of their socket full at the {end}",
    "refused_packets": "{n} packets were refused at the {end}, after the link: no IP packets, or too long",
}
"""What is lost in no queue, in words."""


def remarks(summary: Mapping[str, Any]) -> list[str]:
    """What changes the meaning of results of real packets, in sentences; none for a simulated run."""
    live = summary.get("live")
    if not live:
        return []
    said = [str(each) for each in (*live["warnings"], *live.get("remarks", ()))]
    if not live["kept_up"]:
        said.append(
            f"the machine did not keep up: {live['late_packets']} of {live['packets']} packets were forwarded more "
            f"than 1 ms late, the latest by {ms(live['lateness_max_ns'])} ms, 99 % within "
            f"{ms(live['lateness_p99_ns'])} ms; the results are flagged (live.kept_up)"
        )
    if live.get("fault"):
        said.append(f"the link ended early: {live['fault']}")
    if live.get("peer_exit_code"):
        said.append(f"the command at the other end failed (exit code {live['peer_exit_code']})")
    if live.get("stranger_packets"):
        said.append(f"{live['stranger_packets']} packets belonged to no flow of the scenario, and were not forwarded")
    for end in live["losses"]:
        said += [words.format(n=end[key], end=end["end"]) for key, words in LOST_OUTSIDE.items() if end[key]]
    return said


def made(rows: Sequence[Row], columns: Columns, words: int) -> Table:
    """A table of rows; its first `words` columns hold words, the others numbers."""
    cells = tuple(tuple(cell(row) for _, cell in columns) for row in rows)
    return Table(tuple(head for head, _ in columns), cells, len(columns) - words)


def toml(value: Mapping[str, Any]) -> str:
    """A resolved scenario as TOML; what is missing is left out."""
    return tomli_w.dumps(_present(value))


def _present(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _present(each) for key, each in value.items() if each is not None}
    return [_present(each) for each in value] if isinstance(value, list) else value


def fixed(value: float | None, factor: float = 1.0, digits: int = 1) -> str:
    """A value in a unit; a dash for a missing one."""
    return "–" if value is None else f"{factor * value:.{digits}f}"


def ms(value: float | None) -> str:
    """Nanoseconds in milliseconds: two digits below 10."""
    return "–" if value is None else f"{value / 1e6:.{1 if value >= 1e7 else 2}f}"


def percent(value: float | None) -> str:
    """A ratio in per cent: two digits below 10."""
    return "–" if value is None else f"{100 * value:.{1 if value >= 0.1 else 2}f}"


def ratio(row: Row, name: str = "drops_packets") -> float | None:
    """A part of the arrivals; None without arrivals."""
    return row[name] / row["arrivals_packets"] if row["arrivals_packets"] else None
