"""A run as a data file of Flent (.flent.gz, format version 4), for Flent's plots and its GUI.

Flent measures bulk TCP streams between a client and a server. So each flow of kind `tcp` is a stream: in direction
`forward` a download, in `reverse` an upload; the test is `tcp_ndown`, `tcp_nup`, or `rrul_var` with both.

| what Flent says | where it comes from |
|---|---|
| TCP download, TCP upload, in Mbit/s | `throughput_bps` of table `flow_series`, without headers |
| their avg, sum, fairness, totals | as Flent computes them of these |
| raw values `tcp_rtt` (ms), `tcp_cwnd`, `tcp_ssthresh` (segments) | `srtt_ns`, `cwnd_segments`, `ssthresh_segments` |
| Ping (ms) | nothing: no probe of its own crosses the network, so these series are empty |

Ping is the round trip of a probe. Queueing delay does not stand for it, nor does a flow of kind `udp`, which nobody
answers. Other sources than `tcp` have no series in these tests and are left out.
"""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .. import __version__
from .._core import ScenarioError
from ..quantities import in_base_unit
from . import SUFFIXES, Flow, Resolved, flows, require_series

if TYPE_CHECKING:
    import polars as pl

    Tables = Mapping[str, pl.DataFrame]

Values = list[float | None]

BEGAN, BEGAN_S = "2000-01-01T00:00:00.000000Z", 946684800.0
"""When a run is said to have begun, so that equal runs give equal bytes."""

KIND = "tcp"
"""Sources that do what Flent's streams do: send as much as they can."""


def check(scenario: Resolved) -> None:
    """Raise `ScenarioError` where a scenario has nothing that Flent measures."""
    require_series(scenario)
    if not any(each.entry["kind"] == KIND for each in flows(scenario)):
        kinds = ", ".join(dict.fromkeys(each.entry["kind"] for each in flows(scenario)))
        raise ScenarioError(
            f"flows: Flent's tests measure TCP streams; there must be flows of kind {KIND}, and there are only: {kinds}"
        )


def document(summary: Mapping[str, Any], tables: Tables, title: str) -> bytes:
    """The file, compressed. Equal runs give equal bytes. Raises `ScenarioError`."""
    scenario = summary["scenario"]
    check(scenario)
    ways = {"download": list[Flow](), "upload": list[Flow]()}
    for each in flows(scenario):
        if each.entry["kind"] == KIND:
            ways["upload" if each.entry.get("direction") == "reverse" else "download"].append(each)
    times, results, raw = _series(tables["flow_series"], ways)
    length = in_base_unit(scenario["run"]["duration"]) * 1e-9
    both = all(ways.values())
    most = max(len(each) for each in ways.values())
    parameter, test = {
        (True, True): ("bidir_streams", "rrul_var"),
        (True, False): ("download_streams", "tcp_ndown"),
        (False, True): ("upload_streams", "tcp_nup"),
    }[bool(ways["download"]), bool(ways["upload"])]
    parameters = {parameter: str(most)} | ({"labels": ",".join(str(i + 1) for i in range(most))} if both else {})
    metadata = {
        "NAME": test, "TITLE": title, "NOTE": f"simulated by Sluicegate {__version__}, seed {summary['seed']}",
        "TIME": BEGAN, "T0": BEGAN, "LENGTH": length, "TOTAL_LENGTH": length,
        "STEP_SIZE": in_base_unit(scenario["run"]["sample"]) * 1e-9,
        "HOST": "receiver", "HOSTS": ["receiver"], "LOCAL_HOST": "sender", "IP_VERSION": 4,
        "TEST_PARAMETERS": parameters, "FLENT_VERSION": None, "DATA_FILENAME": f"{title}{SUFFIXES['flent'][0]}",
        "SERIES_META": {
            f"TCP {way}::{i + 1}": {"FLOW": each.number, "GROUP": each.name, "CONG_CONTROL": each.entry["algorithm"]}
            for way, found in ways.items() for i, each in enumerate(found)
        },
    }  # fmt: skip
    whole = {"version": 4, "metadata": metadata, "x_values": times, "results": results, "raw_values": raw}
    return gzip.compress(json.dumps(whole, allow_nan=False, sort_keys=True).encode(), 6, mtime=0)


def _series(
    series: pl.DataFrame, ways: Mapping[str, Sequence[Flow]]
) -> tuple[list[float], dict[str, Values], dict[str, list[dict[str, float]]]]:
    """Times, the series of each stream with what Flent computes of them, and raw values."""
    results: dict[str, Values] = {}
    raw: dict[str, list[dict[str, float]]] = {}
    times: list[float] = series["time_s"].unique().sort().to_list()
    rows = {key[0]: frame for key, frame in series.partition_by("flow", as_dict=True).items()}
    for way, found in ways.items():
        streams = []
        for index, flow in enumerate(found):
            part = rows[flow.number].sort("time_s")
            data = flow.segment_bytes / flow.packet_bytes
            streams.append([1e-6 * data * value for value in part["throughput_bps"]])
            name = f"TCP {way}::{index + 1}"
            results[name] = list(streams[-1])
            raw[name] = [_raw(row, value) for row, value in zip(part.to_dicts(), streams[-1], strict=True)]
        if streams:
            sums = [sum(values) for values in zip(*streams, strict=True)]
            squares = [sum(value * value for value in values) for values in zip(*streams, strict=True)]
            results[f"TCP {way} sum"] = list(sums)
            results[f"TCP {way} avg"] = [each / len(streams) for each in sums]
            results[f"TCP {way} fairness"] = [
                total**2 / (len(streams) * square) if square else None
                for total, square in zip(sums, squares, strict=True)
            ]
    if all(ways.values()):
        pairs = zip(results["TCP download sum"], results["TCP upload sum"], strict=True)
        results["TCP totals"] = [(down or 0.0) + (up or 0.0) for down, up in pairs]
    return times, results, raw


def _raw(row: Mapping[str, Any], throughput: float) -> dict[str, float]:
    """What Flent keeps of one sample of a stream."""
    kept = {"t": BEGAN_S + row["time_s"], "val": throughput}
    for name, column, unit in (
        ("tcp_rtt", "srtt_ns", 1e-6), ("tcp_cwnd", "cwnd_segments", 1.0), ("tcp_ssthresh", "ssthresh_segments", 1.0)
    ):  # fmt: skip
        if row[column] is not None and math.isfinite(row[column]):
            kept[name] = unit * row[column]
    return kept
