"""What tests of `learn` from measurements share: files, logs of ping, and readings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sluicegate.learning.measurements import Measured, Reading

PING = """PING 192.0.2.1 (192.0.2.1) 56(84) bytes of data.
64 bytes from 192.0.2.1: icmp_seq=1 ttl=64 time=18.2 ms
64 bytes from 192.0.2.1: icmp_seq=2 ttl=64 time=218 ms

--- 192.0.2.1 ping statistics ---
2 packets transmitted, 2 received, 0% packet loss, time 1001ms
rtt min/avg/max/mdev = 18.200/118.100/218.200/100.000 ms
"""


def put(tmp_path: Path, document: object, name: str = "file.json") -> Path:
    path = tmp_path / name
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


def iperf3(rates: list[float], reverse: int = 0, **more: Any) -> dict[str, Any]:
    """As iperf3 3.12 writes it, less what is not read."""
    sums = {"sum": {"bits_per_second": sum(rates) / len(rates)}, "sum_received": {"bits_per_second": 0.9 * rates[-1]}}
    sender = {"min_rtt": 18000, "max_rtt": 338000, "mean_rtt": 200000} if not reverse else {"min_rtt": 0, "max_rtt": 0}
    return {
        "start": {"test_start": {"protocol": "TCP", "blksize": 131072, "reverse": reverse}},
        "intervals": [{"sum": {"bits_per_second": rate, "omitted": False}} for rate in rates],
        "end": {"streams": [{"sender": sender}], **sums},
    } | more  # fmt: skip


def pings(*trips: float) -> str:
    return "".join(f"64 bytes from 192.0.2.1: seq={at} ttl=64 time={trip} ms\n" for at, trip in enumerate(trips))


def readings(*found: tuple[str, float, bool]) -> Any:
    return Measured([Reading(quantity, value, "f", "said", least) for quantity, value, least in found], [])


def merged(*found: Any) -> Any:
    return Measured([each for one in found for each in one.readings], [])
