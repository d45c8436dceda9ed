"""What a bridge tells Prometheus."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from sluicegate import _core
from sluicegate.live import metrics

STATUS: dict[str, Any] = {
    "time_s": 12.5,
    "links": [
        {"name": "down", "discipline": "dcn", "rate_bps": 5e6, "throughput_bps": 4e6, "queue_packets": 3,
         "queue_bytes": 4500, "delay_p50_ms": 2.5, "delay_p99_ms": 20.0, "arrivals": 1000,
         "delays": {"bounds_ms": [0.5, 20.0], "within": [400, 960], "count": 970, "sum_ms": 2500.0},
         "drops": {"tail": 1, "early": 22}, "marked": 7, "lost": 0},
        {"name": "up", "discipline": 'a"b', "rate_bps": 1e6, "throughput_bps": 0, "queue_packets": 0, "queue_bytes": 0,
         "delay_p50_ms": None, "delay_p99_ms": None, "arrivals": 0, "drops": {}, "marked": 0, "lost": 0,
         "delays": {"bounds_ms": [0.5, 20.0], "within": [0, 0], "count": 0, "sum_ms": 0.0}},
    ],
    "flows": [
        {"name": "10.0.0.1:1 > 10.0.0.2:2 tcp", "link": "down", "throughput_bps": 3e6, "drops": 1},
        {"name": "10.0.0.1:2 > 10.0.0.2:2 tcp", "link": "down", "throughput_bps": 5e5, "drops": 0},
    ],
    "active_flows": 1, "lost_outside": 0, "late_packets": 4,
}  # fmt: skip


Labels = frozenset[tuple[str, str]]


def samples(text: str) -> dict[tuple[str, Labels], float]:
    """Each sample by name and labels, as Prometheus reads it."""
    families = list(text_string_to_metric_families(text))
    assert {family.name for family in families} == {name for name, *_ in metrics.METRICS}
    return {(one.name, frozenset(one.labels.items())): one.value for family in families for one in family.samples}


def labels(**given: str) -> Labels:
    return frozenset(given.items())


def test_values_in_base_units_with_their_labels() -> None:
    found = samples(metrics.text(STATUS))
    delay = "sluicegate_queueing_delay_seconds"
    buckets = {le: found[f"{delay}_bucket", labels(link="down", le=le)] for le in ("0.0005", "0.02", "+Inf")}
    assert buckets == {"0.0005": 400, "0.02": 960, "+Inf": 970}
    assert (found[f"{delay}_count", labels(link="down")], found[f"{delay}_sum", labels(link="down")]) == (970, 2.5)
    assert found[f"{delay}_count", labels(link="up")] == 0
    assert found["sluicegate_drops_packets_total", labels(link="down", reason="early")] == 22
    assert found["sluicegate_heavy_flows_ratio", labels(link="down", flows="heaviest")] == 0.75
    assert found["sluicegate_heavy_flows_ratio", labels(link="down", flows="eight heaviest")] == 0.875
    assert found["sluicegate_link_info", labels(link="up", discipline='a"b')] == 1
    assert found["sluicegate_late_packets_total", labels()] == 4
    assert "10.0.0.1" not in metrics.text(STATUS)


def test_the_newest_status_is_served(monkeypatch: pytest.MonkeyPatch) -> None:
    ports: list[int] = []
    bind = metrics._Server.server_bind

    def noted(self: Any) -> None:
        bind(self)
        ports.append(self.server_port)

    monkeypatch.setattr(metrics._Server, "server_bind", noted)
    with metrics.serve("127.0.0.1:0") as tell:
        assert tell is not None
        place = f"http://127.0.0.1:{ports[0]}"
        assert urllib.request.urlopen(f"{place}/metrics").read() == b"# EOF\n"
        tell(STATUS)
        answer = urllib.request.urlopen(f"{place}/metrics")
        assert answer.headers["Content-Type"] == "application/openmetrics-text; version=1.0.0; charset=utf-8"
        assert answer.read().decode() == metrics.text(STATUS)
        with pytest.raises(urllib.error.HTTPError, match="404") as missing:
            urllib.request.urlopen(place)
        missing.value.close()
        with pytest.raises(OSError, match="in use") as error, metrics.serve(f"127.0.0.1:{ports[0]}"):
            pass
        assert error.value.filename == f"--metrics 127.0.0.1:{ports[0]}"
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(f"{place}/metrics")


@pytest.mark.parametrize("given", ["9101", ":9101", "localhost", "localhost:x", "localhost:70000"])
def test_an_address_has_a_port(given: str) -> None:
    with pytest.raises(_core.ScenarioError, match="must be an address and a port, such as 127"), metrics.serve(given):
        pass


def test_the_dashboard_asks_for_what_there_is() -> None:
    board = Path(__file__).parents[1] / "docs/examples/grafana.json"
    asked = set(re.findall(r"sluicegate_[a-z_]+", json.dumps(json.loads(board.read_text("utf-8"))["panels"])))
    names = {name for name, _ in samples(metrics.text(STATUS))}
    assert asked
    assert asked <= names
