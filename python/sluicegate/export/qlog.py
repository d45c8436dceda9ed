"""A TCP flow's congestion state as qlog: JSON text sequences (RFC 7464), for qvis and other tools of qlog.

| what qlog says | where it comes from |
|---|---|
| recovery metrics: congestion window, ssthresh, bytes in flight, smoothed RTT | `flow_series`, samples with changes |
| `dropped_packets`, a field of our own in these events | the flow's drops at queues under study since the last sample |
| congestion state, new: recovery | a sample with window cuts |
| packet sent | arrival of data at the first link that reports it in table `packets`; not the moment it left the host |
| packet lost | drop of data at a queue, or its loss on a wire (`drop_reason` lost); not the moment the sender noticed |

qlog has no event schema for TCP, so the events are those of QUIC, which qvis and other tools draw; a packet number
counts the flow's packets of data in the order of `packet sent`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

from .. import __version__
from .._core import ScenarioError
from . import Flow, Resolved, connection, require_series

if TYPE_CHECKING:
    import polars as pl

    Tables = Mapping[str, pl.DataFrame]

Draft = Literal["current", "0.3"]
Event = tuple[float, str, dict[str, Any]]

DRAFTS: tuple[Draft, ...] = ("current", "0.3")
"""draft-ietf-quic-qlog-main-schema-13 with quic-events-12; and the version 0.3 of both, which qvis reads."""

NAMES: dict[Draft, dict[str, str]] = {
    "current": {
        "metrics": "quic:recovery_metrics_updated", "state": "quic:congestion_state_updated",
        "sent": "quic:packet_sent", "lost": "quic:packet_lost",
    },
    "0.3": {
        "metrics": "recovery:metrics_updated", "state": "recovery:congestion_state_updated",
        "sent": "transport:packet_sent", "lost": "recovery:packet_lost",
    },
}  # fmt: skip
"""The events of each draft."""

RS, LF = b"\x1e", b"\n"
"""What stands before and after each text of a sequence (RFC 7464)."""


def sequence(scenario: Resolved, tables: Tables, flow: int | str, draft: Draft = "current") -> bytes:
    """The file: a header, and an event in each further record. Equal runs give equal bytes. Raises `ScenarioError`."""
    if draft not in DRAFTS:
        raise ScenarioError(f"draft = {draft}: must be one of {', '.join(DRAFTS)}")
    require_series(scenario)
    found = connection(scenario, flow)
    records = [_header(found, draft)]
    events = [*_samples(tables["flow_series"], found), *_packets(tables["packets"], found, draft)]
    for time, name, data in sorted(events, key=lambda event: event[0]):
        records.append({"time": round(1e3 * time, 6), "name": NAMES[draft][name], "data": data})
    return b"".join(RS + json.dumps(each, ensure_ascii=False, allow_nan=False).encode() + LF for each in records)


def _header(flow: Flow, draft: Draft) -> dict[str, Any]:
    title = f"flow {flow.number} ({flow.name}), {flow.entry['algorithm']}"
    common: dict[str, Any] = {"group_id": str(flow.number)}
    trace: dict[str, Any] = {"vantage_point": {"name": f"sender of flow {flow.number}", "type": "client"}}
    if draft == "current":
        head = {
            "file_schema": "urn:ietf:params:qlog:file:sequential",
            "serialization_format": "application/qlog+json-seq",
        }
        common |= {
            "time_format": "relative_to_epoch",
            "reference_time": {"clock_type": "monotonic", "epoch": "unknown"},
        }
        trace["event_schemas"] = ["urn:ietf:params:qlog:events:quic-12"]
    else:
        head = {"qlog_version": "0.3", "qlog_format": "JSON-SEQ"}
        common |= {"protocol_type": ["TCP"], "time_format": "relative", "reference_time": 0}
    about = {"title": title, "description": f"simulated by Sluicegate {__version__}; times from the start of the run"}
    return head | about | {"trace": {**trace, "common_fields": common}}


def _samples(series: pl.DataFrame, flow: Flow) -> Iterator[Event]:
    """What changed of the congestion state, at the samples of the series."""
    import polars as pl

    segment, told = flow.segment_bytes, dict[str, Any]()
    units: dict[str, tuple[str, Callable[[float], Any]]] = {
        "congestion_window": ("cwnd_segments", lambda value: round(value * segment)),
        "ssthresh": ("ssthresh_segments", lambda value: round(value * segment)),
        "bytes_in_flight": ("in_flight_bytes", round),
        "smoothed_rtt": ("srtt_ns", lambda value: value * 1e-6),
    }
    state = None
    for row in series.filter(pl.col("flow") == flow.number).iter_rows(named=True):
        values = {
            name: unit(row[column])
            for name, (column, unit) in units.items()
            if row[column] is not None and math.isfinite(row[column])
        }
        changed = {name: value for name, value in values.items() if told.get(name) != value}
        told |= changed
        if lost := row["drops_packets"] + row["lost_packets"]:
            changed["dropped_packets"] = lost
        new = _state(row)
        if new != state or row["window_cuts"]:
            yield row["time_s"], "state", ({} if state is None else {"old": state}) | {"new": new}
            state = new
        if changed:
            yield row["time_s"], "metrics", changed


def _state(row: Mapping[str, Any]) -> str:
    """The names of RFC 9002, 7.3: a sample with window cuts is recovery."""
    if row["window_cuts"]:
        return "recovery"
    window, threshold = row["cwnd_segments"], row["ssthresh_segments"]
    slow = window is not None and threshold is not None and window < threshold
    return "slow_start" if slow else "congestion_avoidance"


def _packets(packets: pl.DataFrame, flow: Flow, draft: Draft) -> Iterator[Event]:
    """The flow's packets of data at the first link that reports them, and their drops and losses at any."""
    import polars as pl

    data = packets.filter((pl.col("flow") == flow.number) & (pl.col("to") == "receiver") & (pl.col("data_bytes") > 0))
    if data.is_empty():
        return
    first, count = data["link"][0], 0
    numbers: dict[int, int] = {}  # of the latest packet with data from this byte
    for row in data.iter_rows(named=True):
        if row["event"] == "departure" or (row["event"] == "arrival" and row["link"] != first):
            continue
        if row["event"] == "arrival":
            numbers[row["first_byte"]], count = count, count + 1
        number = numbers.get(row["first_byte"])
        if number is None:
            continue
        what: dict[str, Any] = {"header": {"packet_type": "1RTT", "packet_number": number}}
        if row["event"] == "arrival":
            what["raw"] = {"length": row["packet_bytes"], "payload_length": row["data_bytes"]}
            yield row["time_s"], "sent", what
        else:
            if draft == "0.3":
                what["packet_number"] = number  # where qvis looks for it
            what["drop_reason"] = row["event"]
            what["link"] = row["link"]
            yield row["time_s"], "lost", what
