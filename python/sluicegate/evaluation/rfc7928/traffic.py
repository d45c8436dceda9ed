"""The traffic of the scenarios: NewReno transfers, web users, VoIP, video and constant bit rates.

Hosts are Linux's, with its Reno where the RFC asks for NewReno, and its CUBIC: both recover by SACK and RACK. Packets
have 1500 bytes and base round trips are 100 ms unless a scenario says otherwise.
"""

from __future__ import annotations

from typing import Any

from ..._generated import Http, OnOff, Poisson, Tcp, Udp
from ..suite import RTT

HOSTS: dict[str, Any] = {"profile": "linux"}

OWN_LINK: dict[str, Any] = {"access_rate": "100 Mbit/s"}
"""The sender's own link in a network of links; a dumbbell has it by itself."""

OBJECTS = "bounded_pareto(shape = 1.2, low = 1 kB, high = 100 kB)"
"""Sizes of web objects, 3.6 kB on average: the RFC wants 1 kB at least (Sec. 7.2)."""


def transfers(count: int = 1, *, initial_window: int = 3, **more: Any) -> Tcp:
    """TCP NewReno, without end unless `size` is given, with the initial window of Sec. 5.1.1."""
    return Tcp(count, **HOSTS | {"algorithm": "reno", "rtt": RTT} | more, initial_window=initial_window)


def ledbat(**more: Any) -> Tcp:
    """LEDBAT without end, with the target and the gain of Sec. 5.4, 5 ms and 10, and its own initial window (RFC 6817,
    Sec. 2.5). Its round trips stand for one-way delays, so that no acknowledgement may wait."""
    return transfers(
        algorithm="ledbat", initial_window=2, ledbat_target="5 ms", ledbat_gain=10, delayed_ack="0 s", **more
    )


def cbr(rate: str, **more: Any) -> Udp:
    """A constant bit rate, in packets of 1500 bytes unless told."""
    return Udp(rate=rate, **{"packet_size": "1500 B", "rtt": RTT} | more)


def datagrams(rate: str, packet_size: str, **more: Any) -> Poisson:
    """Small packets at random, as DNS requests or responses; nobody answers them or sends them again."""
    return Poisson(rate=rate, packet_size=packet_size, rtt=RTT, **more)


def voip(**more: Any) -> Udp:
    """A call with G.711: 160 bytes of speech and 40 of headers every 20 ms."""
    return cbr("80 kbit/s", packet_size="200 B", **more)


def video(**more: Any) -> OnOff:
    """Bursty video: 30 frames a second of 5 kB on average, exponential both, each sent at 50 Mbit/s."""
    return OnOff(rate="50 Mbit/s", on_mean="800 us", off_mean="32500 us", packet_size="1500 B", rtt=RTT, **more)


def browser(**more: Any) -> Http:
    """One web user, of a kind of its own so that its pages can be told apart: 50 objects to a page, six connections
    with an initial window of 10, the next page a second after the last object (Sec. 7.2)."""
    return Http(
        1, **HOSTS, algorithm="reno", initial_window=10, rtt=RTT, request_size="constant(350 B)",
        response_size=OBJECTS, embedded_size=OBJECTS, embedded_objects="constant(50)", think_time="constant(1 s)",
        persistent=1.0, persistent_parallel=6, keep_alive="100 ms", **more,
    )  # fmt: skip


def stream(**more: Any) -> Http:
    """Video in chunks over TCP: 400 kB, and the next 2 s after the last byte, so that a slow path gets less."""
    return Http(
        1, **HOSTS, algorithm="reno", initial_window=10, rtt=RTT, request_size="constant(350 B)",
        response_size="constant(400 kB)", embedded_objects="constant(0)", think_time="constant(2 s)",
        pages_per_server="constant(1000000)", persistent=1.0, keep_alive="10 s", **more,
    )  # fmt: skip
