"""The grid of an envelope: links and loads, and how long each is run.

The warm-up of a cell lasts as long as its flows need to settle: the longest of so many seconds, round trips, packets
and cycles of CUBIC. The cell is then measured for as long again. Computing time grows with packets: a cell with
more than `Grid.most` of them is not measured.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from ..._generated import Dumbbell, Source, Tcp, Udp
from ...scenario import scenario

PACKET = 1500
PACKET_BITS = 8 * PACKET
"""Of Linux's full packets."""

WINDOW = 16 * 2**20
"""Bytes: the most that Linux's hosts let be under way (profile linux, `window`). Where a flow's share of the link needs
more, hosts decide on the link, and a cell is not measured."""

SETTLED_S, TRIPS, PACKETS, CYCLES = 20.0, 50, 2000, 1.5
"""What a warm-up lasts: the longest of these. Seconds, for controllers that adapt in steps (ARED, BLUE, RED-PD); round
trips; packets, for slow links; and cycles of CUBIC, see `cycle_s`."""

LEAST_TRIPS, LEAST_CYCLES = 20, 1.0
"""Where `Grid.most` makes a warm-up shorter, the least with which a cell is measured."""

FLOOD = 2
"""A flood sends so many times the link's rate, as CHOKe 1999's of 2 Mbit/s on 1 Mbit/s."""

FLOOD_S, LEAST_FLOOD_S = 10.0, 5.0
"""What a warm-up lasts with a flood, before which windows are small and cycles short, and at least."""

SCALED = 0.7
"""CUBIC's β: what a loss leaves of a window (RFC 9438, Sec. 4.6). Its C is 0.4 packets/s³."""


@dataclass(frozen=True, order=True)
class Cell:
    """A link and its load: rate, number of TCP flows, base round trip."""

    rate_bps: int
    flows: int
    rtt_ns: int

    @property
    def share(self) -> float:
        """A flow's share of the product of rate and round trip, in packets."""
        return self.rate_bps * self.rtt_ns / 1e9 / PACKET_BITS / self.flows

    def text(self, seconds: float, flood: bool) -> str:
        """The scenario, with a warm-up of so many seconds and as many measured. Slow start ends at a flow's share, so
        that flows begin near what they settle at; Linux remembers that threshold of earlier connections."""
        network = Dumbbell(rate=f"{self.rate_bps} bit/s", delay=f"{self.rtt_ns // 2} ns",
                           access_rate=f"{10 * self.rate_bps} bit/s")  # fmt: skip
        flows: list[Source] = [Tcp(self.flows, name="tcp", initial_ssthresh=max(2, round(self.share)))]
        if flood:
            flows.append(
                Udp(rate=f"{FLOOD * self.rate_bps} bit/s", packet_size=f"{PACKET} B", jitter=1.0, name="flood")
            )
        lengths = {"duration": f"{round(2000 * seconds)} ms", "warmup": f"{round(1000 * seconds)} ms"}
        return scenario(network, flows, **lengths, series=False)


@dataclass(frozen=True)
class Grid:
    """What is run: every combination of rates, numbers of flows and round trips. `flooded`: the round trips at which
    there is a flood too. `moved`: flows and round trip with which parameters are moved. `most`: packets of a cell, and
    `most_moved`, of one with a parameter moved; a discipline in Python has a part of them (`IN_PYTHON`). `moves`: what
    parameters are multiplied by."""

    rates: tuple[int, ...]
    flows: tuple[int, ...]
    trips: tuple[int, ...]
    flooded: tuple[int, ...]
    moved: tuple[int, int]
    most: float
    most_moved: float
    moves: tuple[float, ...] = (0.5, 2.0)

    def cells(self) -> Iterator[Cell]:
        """All cells, cheap ones first."""
        for rate in self.rates:
            for flows in self.flows:
                for trip in self.trips:
                    yield Cell(rate, flows, trip)

    def row(self) -> Iterator[Cell]:
        """The cells in which parameters are moved."""
        return (Cell(rate, *self.moved) for rate in self.rates)


MS = 1_000_000
FLOWS, TRIPS_NS, MIDDLE = (1, 10, 100, 1000), (5 * MS, 30 * MS, 200 * MS), 30 * MS
RATES = tuple(int(float(f"{10 ** (at / 2):.3g}")) for at in range(10, 21))
"""From 100 kbit/s to 10 Gbit/s, two in a decade, to three digits."""

FULL = Grid(RATES, FLOWS, TRIPS_NS, (MIDDLE,), (10, MIDDLE), 25e6, 8.5e6)
QUICK = Grid((*RATES[:9], RATES[10]), FLOWS, TRIPS_NS, (MIDDLE,), (10, MIDDLE), 8.5e6, 1.5e6)
"""25 million packets are 15 s of 10 Gbit/s twice, a cycle of CUBIC of a flow alone with a round trip of 5 ms. Without
3.16 Gbit/s, and with a third of the packets, an envelope takes a third of the time."""

IN_PYTHON = 1 / 5
"""A discipline in Python has this part of `Grid.most`: a packet takes three to eight times as long, 0.9 to 1.8 µs
beside 0.1 to 0.6."""


def cycle_s(window: float) -> float:
    """CUBIC's time from a loss at a window of so many packets back to it, ∛(W(1 − β)/C) (RFC 9438, Sec. 4.2)."""
    return math.cbrt(window * (1 - SCALED) / 0.4)


def warmup_s(cell: Cell, most: float, flood: bool = False) -> float | str:
    """How long the warm-up of a cell lasts, and what is measured of it; or why it is not measured."""
    trip, packet = cell.rtt_ns / 1e9, PACKET_BITS / cell.rate_bps
    if cell.share * PACKET > WINDOW:
        return "windows"
    cycle = 0.0 if flood else cycle_s(cell.share)
    wanted = max(FLOOD_S if flood else SETTLED_S, TRIPS * trip, PACKETS * packet, CYCLES * cycle)
    least = max(LEAST_FLOOD_S if flood else 0.0, LEAST_TRIPS * trip, LEAST_CYCLES * cycle)
    allowed = most * packet / 2 / (1 + FLOOD if flood else 1)
    return "packets" if allowed < least else min(wanted, allowed)
