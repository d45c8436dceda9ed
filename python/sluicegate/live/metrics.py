"""What a bridge does, as OpenMetrics for Prometheus: the newest status at an address, whenever it is asked for."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from .. import _core

TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"

Status = Mapping[str, Any]


class Sample(NamedTuple):
    """A value with its labels; `suffix`: what follows the name of a histogram."""

    labels: dict[str, str]
    value: float
    suffix: str = ""


Values = Callable[[Status], Iterator[Sample]]


def _of_links(key: str) -> Values:
    def values(status: Status) -> Iterator[Sample]:
        for link in status["links"]:
            if (value := link.get(key)) is not None:
                yield Sample({"link": link["name"]}, value)

    return values


def _drops(status: Status) -> Iterator[Sample]:
    for link in status["links"]:
        for reason, count in link.get("drops", {}).items():
            yield Sample({"link": link["name"], "reason": reason}, count)


def _delays(status: Status) -> Iterator[Sample]:
    for link in status["links"]:
        of, delays = {"link": link["name"]}, link["delays"]
        for bound_ms, within in zip(delays["bounds_ms"], delays["within"], strict=True):
            yield Sample({**of, "le": f"{bound_ms / 1000:g}"}, within, "_bucket")
        yield Sample({**of, "le": "+Inf"}, delays["count"], "_bucket")
        yield Sample(of, delays["count"], "_count")
        yield Sample(of, delays["sum_ms"] / 1000, "_sum")


def _shares(status: Status) -> Iterator[Sample]:
    """Of the heaviest flow, and of all that the status names, the part of what their link carries. No flow is named:
    addresses are private."""
    for link in status["links"]:
        rates = [flow["throughput_bps"] for flow in status["flows"] if flow["link"] == link["name"]]
        if rates and link.get("throughput_bps"):
            for which, rate in (("heaviest", max(rates)), ("eight heaviest", sum(rates))):
                yield Sample({"link": link["name"], "flows": which}, min(rate / link["throughput_bps"], 1.0))


def _info(status: Status) -> Iterator[Sample]:
    for link in status["links"]:
        yield Sample({"link": link["name"], "discipline": link["discipline"]}, 1)


def _whole(key: str) -> Values:
    return lambda status: iter([Sample({}, status[key])])


METRICS: tuple[tuple[str, str, str, Values], ...] = (
    ("sluicegate_link", "info", "The discipline of each link.", _info),
    ("sluicegate_rate_bits_per_second", "gauge", "Rate of the link.", _of_links("rate_bps")),
    ("sluicegate_throughput_bits_per_second", "gauge", "IP bits sent, over the last quarter of a second.",
     _of_links("throughput_bps")),
    ("sluicegate_queue_packets", "gauge", "Packets queued now.", _of_links("queue_packets")),
    ("sluicegate_queue_bytes", "gauge", "Bytes queued now.", _of_links("queue_bytes")),
    ("sluicegate_queueing_delay_seconds", "histogram", "How long packets that were sent have waited.", _delays),
    ("sluicegate_arrivals_packets", "counter", "Packets that reached the queue.", _of_links("arrivals")),
    ("sluicegate_drops_packets", "counter", "Packets that the queue dropped, by reason.", _drops),
    ("sluicegate_marks_packets", "counter", "Packets that the queue marked (ECN).", _of_links("marked")),
    ("sluicegate_lost_packets", "counter", "Packets lost on the emulated wire.", _of_links("lost")),
    ("sluicegate_heavy_flows_ratio", "gauge",
     "Share of a link's throughput: of its heaviest flow, and of its heaviest flows (at most eight) together.",
     _shares),
    ("sluicegate_active_flows", "gauge", "Flows that sent anything in the last quarter of a second.",
     _whole("active_flows")),
    ("sluicegate_late_packets", "counter", "Packets forwarded more than 1 ms late.", _whole("late_packets")),
    ("sluicegate_lost_outside_packets", "counter", "Frames that the interfaces lost or refused.",
     _whole("lost_outside")),
    ("sluicegate_running_seconds", "gauge", "Time since the bridge started.", _whole("time_s")),
)  # fmt: skip
"""Name, type, meaning, and the values with their labels of a status."""

SUFFIX = {"counter": "_total", "info": "_info"}


def text(status: Status) -> str:
    """A status as OpenMetrics."""
    lines = []
    for name, kind, meaning, values in METRICS:
        lines += [f"# TYPE {name} {kind}", f"# HELP {name} {meaning}"]
        for labels, value, suffix in values(status):
            said = ",".join(f'{key}="{_escaped(label)}"' for key, label in labels.items())
            lines.append(f"{name}{suffix or SUFFIX.get(kind, '')}{said and f'{{{said}}}'} {value:.10g}")
    return "\n".join([*lines, "# EOF", ""])


def _escaped(label: str) -> str:
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def address(given: str) -> tuple[str, int]:
    """Host and port of "127.0.0.1:9101" or "[::1]:9101". Raises `ScenarioError`."""
    host, colon, port = given.rpartition(":")
    if not (colon and host and port.isdigit() and int(port) < 65536):
        raise _core.ScenarioError(f"--metrics {given}: must be an address and a port, such as 127.0.0.1:9101")
    return host.removeprefix("[").removesuffix("]"), int(port)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def server_bind(self) -> None:
        """Without looking for the name of the host, which may take seconds."""
        socket.socket.bind(self.socket, self.server_address)
        self.server_name, self.server_port = str(self.server_address[0]), self.socket.getsockname()[1]


@contextmanager
def serve(given: str | None) -> Iterator[Callable[[Status], object] | None]:
    """Serve the newest status at this address during the block, as a function that takes it; None where none is given.

    Raises `ScenarioError` and, when the address cannot be had, OSError.
    """
    if given is None:
        yield None
        return
    host, port = address(given)
    newest: list[Status] = []

    class Handler(BaseHTTPRequestHandler):
        timeout = 10.0

        def do_GET(self) -> None:
            found = self.path.partition("?")[0] == "/metrics"
            body = (text(newest[-1]) if newest else "# EOF\n") if found else "the metrics are at /metrics\n"
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", TYPE if found else "text/plain")
            self.send_header("Content-Length", str(len(body.encode())))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing: standard error belongs to the bridge."""

    class Server(_Server):
        address_family = socket.AF_INET6 if ":" in host else socket.AF_INET

    try:
        server = Server((host, port), Handler)
    except OSError as error:
        raise OSError(error.errno, error.strerror, f"--metrics {given}") from None
    thread = threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True, name="metrics")
    thread.start()

    def tell(status: Status) -> None:
        newest[:] = [status]

    try:
        yield tell
    finally:
        server.shutdown()
        server.server_close()
