"""The experiments of "Understanding CHOKe" as data: a `Case` is what differs from the scenario `choke2004`."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ..runner import Sets
from . import Settings

LINK_BPS = 1_000_000
PACKET_BITS = 8000
BASE_RTT_S = 0.1
TCP_FLOWS = 32
MIN_TH, MAX_TH, MAX_P = 20, 520, 0.5
VEGAS_FLOWS, VEGAS_BPS, VEGAS_S = 100, 15_000_000, 20
VEGAS_MAX_TH, VEGAS_MAX_P = 1020, 0.1
ALPHA = 3.0
"""Packets that a Vegas flow keeps in the queue: α = β, lost with the paper's formulas."""

DEFAULT = Settings(seeds=tuple(range(1, 11)), duration_s=150, warmup_s=30, sample_s=1)
FULL = Settings(seeds=tuple(range(1, 31)), duration_s=350, warmup_s=50, sample_s=1)

SNAPSHOT_S = 0.0973
"""Sec. V-B looks at the queue every 100 ms. UDP's packets come at whole parts of that, at 10c every 0.8 ms: each look
would find them at the same point of their gap. 97.3 ms has no such part in common with any rate here."""


@dataclass(frozen=True)
class Case:
    """One point.

    `udp`: for each group of unresponsive flows how many there are and what each sends, in parts of the link's rate.
    `tcp`: for each group of TCP flows how many there are and their round trip without queues in ms. `candidates`:
    packets that are drawn for each arrival. `draw`: where from. `alpha`: what each Vegas flow of Sec. V-C keeps in the
    queue, packets; 0 for NewReno. `snapshots`: whether
    the places of the queue are kept; `series`: whether the queue is, over time. `sets`: any other overrides, with a
    name for them in `variant`.
    """

    udp: tuple[tuple[int, float], ...] = ((1, 10.0),)
    tcp: tuple[tuple[int, float], ...] = ((TCP_FLOWS, 1000 * BASE_RTT_S),)
    link_bps: int = LINK_BPS
    candidates: int = 1
    draw: str = "random"
    alpha: float = 0.0
    snapshots: bool = field(default=False, compare=False)
    series: bool = field(default=False, compare=False)
    variant: str = ""
    sets: Sets = ()

    @property
    def id(self) -> str:
        """Names the experiment."""
        parts = [
            " and ".join(f"{count} {'Vegas' if self.vegas else 'TCP'} at {rtt:g} ms" for count, rtt in self.tcp),
            " and ".join(f"{count} UDP of {rate:g}c" for count, rate in self.udp),
            f"alpha = {self.alpha:g}" if self.vegas else "",
            f"{self.link_bps / 1e6:g} Mbit/s" if self.link_bps != LINK_BPS else "",
            f"{self.candidates} candidates" if self.candidates > 1 else "",
            f"{self.draw} CHOKe" if self.draw != "random" else "",
            self.variant,
        ]
        return ", ".join(part for part in parts if part)

    @property
    def vegas(self) -> bool:
        """Whether the TCP flows are Vegas."""
        return self.alpha > 0

    @property
    def c(self) -> float:
        """The link's rate, packets per second."""
        return self.link_bps / PACKET_BITS

    @property
    def x0(self) -> float:
        """What the first unresponsive flow sends, in parts of the link's rate."""
        return self.udp[0][1]

    def at(self, x0: float) -> Case:
        """The same with another rate of the first group of unresponsive flows."""
        return replace(self, udp=((self.udp[0][0], x0), *self.udp[1:]))

    def of(self, flows: int) -> Case:
        """The same with another number of TCP flows of the first group."""
        return replace(self, tcp=((flows, self.tcp[0][1]), *self.tcp[1:]))

    def overrides(self) -> Sets:
        """What differs from the scenario, as `--set` takes it; further groups of flows are not among it."""
        sets = [
            ("flows.0.count", str(self.tcp[0][0])),
            ("flows.1.rate", f"{self.udp[0][1] * self.link_bps / 1e6:g} Mbit/s"),
        ]
        if self.udp[0][0] > 1:
            sets.append(("flows.1.count", str(self.udp[0][0])))
        if self.tcp[0][1] != 1000 * BASE_RTT_S:
            sets.append(("flows.0.access_delay", _access(self.tcp[0][1])))
            sets.append(("network.delay", "5 ms"))
        if self.link_bps != LINK_BPS:
            sets.append(("network.rate", f"{self.link_bps / 1e6:g} Mbit/s"))
            sets.append(("network.access_rate", "1 Gbit/s"))
        if self.candidates > 1:
            sets.append(("queue.choke.candidates", str(self.candidates)))
        if self.draw != "random":
            sets.append(("queue.choke.draw", self.draw))
        if self.vegas:
            sets += [
                ("flows.0.algorithm", "vegas"), ("flows.0.vegas_rules", "paper"), ("flows.0.vegas_cut", "0"),
                ("flows.0.vegas_alpha", f"{self.alpha:g}"), ("flows.0.vegas_beta", f"{self.alpha:g}"),
                ("queue.max_th", str(VEGAS_MAX_TH)), ("queue.max_p", f"{VEGAS_MAX_P:g}"), ("queue.limit", "4000"),
            ]  # fmt: skip
        return (*sets, *self.sets)

    def text(self, text: str) -> str:
        """The scenario with the further groups of flows."""
        more = [
            f'[[flows]]\nkind = "tcp"\ncount = {count}\nalgorithm = "newreno"\nprofile = "ns2"\nwindow = 100\n'
            f'packet_size = "1000 B"\nspread = "1 s"\naccess_delay = "{_access(rtt)}"\n'
            for count, rtt in self.tcp[1:]
        ]
        more += [
            f'[[flows]]\nkind = "udp"\ncount = {count}\nrate = "{rate * self.link_bps / 1e6:g} Mbit/s"\n'
            'packet_size = "1000 B"\nspread = "1 s"\n'
            for count, rate in self.udp[1:]
        ]
        return text.replace("[run]\n", "\n".join([*more, "[run]\n"]))


def _access(rtt_ms: float) -> str:
    """The delay of an access link that makes this round trip, with 5 ms on the congested link."""
    return f"{rtt_ms / 2 - 5:g} ms"


BASE = Case()

# Experiments 1 and 2: Figs. 4, 5, 6 ---------------------------------------------------------------------------------

RATES = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.25, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0)
SPATIAL = (0.1, 1.0, 3.0, 10.0)
LOAD = tuple(replace(BASE.at(rate), snapshots=True) for rate in RATES)
NUMBERS = (12, 16, 20, 24, 32, 40, 48, 64)
MANY = tuple(replace(BASE.of(number), snapshots=True) for number in NUMBERS)
SPATIAL_MANY = (12, 20, 40, 64)
"""Of these numbers of TCP flows ρ(y) is drawn; it is checked for all."""

# Experiment 3: Fig. 7 -----------------------------------------------------------------------------------------------

VEGAS_RATES = (0.1, 0.3, 0.7, 1.0, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0)
VEGAS = replace(BASE, tcp=((VEGAS_FLOWS, 1000 * BASE_RTT_S),), link_bps=VEGAS_BPS, alpha=ALPHA)
VEGAS_LOAD = tuple(VEGAS.at(rate) for rate in VEGAS_RATES)
ALPHAS = (1.0, 2.0, 5.0, 10.0)
VEGAS_ALPHAS = tuple(replace(VEGAS.at(1.25), alpha=alpha) for alpha in ALPHAS)
"""Other values of α where UDP's share is near its greatest."""

# Sec. VI: Figs. 8 and 9, small N, growing c, variants ----------------------------------------------------------------

FIG8, FIG9 = (replace(BASE.of(number), series=True) for number in (40, 8))
SMALL = (4, 6, 8, 10)
FEW = tuple(replace(BASE.of(number), series=number == 8) for number in SMALL)
LINKS = (2_000_000, 4_000_000, 8_000_000)
FAST = tuple(replace(BASE, link_bps=rate, series=rate == LINKS[-1]) for rate in LINKS)
ENDS = (0.5, 1.0, 2.0, 5.0, 10.0)
FRONT, BACK = (replace(BASE, draw=draw) for draw in ("front", "back"))
FRONT_LOAD, BACK_LOAD = (tuple(case.at(rate) for rate in ENDS) for case in (FRONT, BACK))
SLOW, JITTER = ("flows.0.access_rate", "1 Mbit/s"), ("flows.1.jitter", "1")
"""TCP's packets do not come back to back; UDP is not in step with the link."""

BACK_MANY = 200
BACK_FACTORS = {
    (number, slow, jitter): replace(
        BACK.of(number),
        variant=", ".join(name for name, on in (("TCP spaced", slow), ("UDP jittered", jitter)) if on),
        sets=tuple(each for each, on in ((SLOW, slow), (JITTER, jitter)) if on),
        series=number == TCP_FLOWS and not slow and not jitter,
    )
    for number in (TCP_FLOWS, BACK_MANY)
    for slow in (False, True)
    for jitter in (False, True)
}
"""Back CHOKe at 10c: the number of TCP flows, whether their packets are spaced, and whether UDP's gaps are random, each
by itself and together."""

BACK_SMOOTH = BACK_FACTORS[BACK_MANY, True, True]

K_RATES = (0.2, 0.5, 1.0, 2.0, 5.0)
TWO, FIVE = (replace(BASE, udp=((k, 1.0),)) for k in (2, 5))
TWO_LOAD, FIVE_LOAD = (tuple(case.at(rate) for rate in K_RATES) for case in (TWO, FIVE))

# Beyond the paper -----------------------------------------------------------------------------------------------------

CANDIDATES = tuple(replace(BASE.at(2.0), candidates=m, series=m == 5) for m in (2, 3, 5))
CROWDED = replace(CANDIDATES[-1].of(96), series=True)
"""Five candidates beside so many TCP flows that the queue stays away from min_th."""

UNEQUAL = tuple(replace(BASE, udp=((1, 0.5), (1, 1.0), (1, 3.0)), candidates=m) for m in (1, 3))
"""Three unresponsive flows of different rates."""

TRIPS = (20.0, 400.0)
FAR = tuple(replace(BASE.at(rate), tcp=((16, TRIPS[0]), (16, TRIPS[1]))) for rate in (0.5, 2.0))
"""Half of the TCP flows with a short round trip, half with a long one."""

LIMIT_SHARE = 0.25
"""The part of the link under which unresponsive flows are to stay, in the chart of the candidates needed."""

NEEDED_FLOWS = (1, 2, 3, 5)
NEEDED_TCP = 96
"""TCP flows beside them: as many as the law of large numbers needs."""


def window_s(case: Case, settings: Settings) -> tuple[int, int]:
    """The length of a run and of its warm-up, seconds. Vegas runs for as long as the paper's, of which the first
    quarter is not measured."""
    if case.vegas:
        duration = min(VEGAS_S, settings.duration_s)
        return duration, duration // 4
    return settings.duration_s, settings.warmup_s


def needed_case(k: int, m: int, x0: float) -> Case:
    """`k` like flows against `m` candidates, beside many TCP flows."""
    return replace(BASE.of(NEEDED_TCP), udp=((k, x0),), candidates=m)


def all_cases() -> dict[str, Case]:
    """Every case once, by its id."""
    from .choke2004_model import needed

    cases = (
        *LOAD, *MANY, *VEGAS_LOAD, *VEGAS_ALPHAS, FIG8, *FEW, *FAST, *FRONT_LOAD, *BACK_LOAD, *BACK_FACTORS.values(),
        *TWO_LOAD, *FIVE_LOAD, *CANDIDATES, CROWDED, *UNEQUAL, *FAR, *(each.case for each in needed()),
    )  # fmt: skip
    found: dict[str, Case] = {}
    for case in cases:
        before = found.get(case.id)
        keeps = before or case
        found[case.id] = replace(case, snapshots=case.snapshots or keeps.snapshots, series=case.series or keeps.series)
    return found
