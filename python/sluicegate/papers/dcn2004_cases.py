"""What DCN 2004's experiments are: schemes, loads, and the few runs beside them that isolate a cause."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .. import scenario as api
from ..experiments.engine import Experiment, Keep, Sets
from . import Settings
from .dcn2004_load import Calibration, Load

LINK_BPS = 100e6
LOADS = (90, 98, 105)
"""Offered loads, in per cent of the link."""

WEB, MIX = "dcn2004", "dcn2004_tcp"
"""The scenarios of web users and of general TCP connections."""

MIX_BPS = (105.3e6, 91.2e6)
"""What the mix offers in the direction of the path and in the reverse (Table 2)."""

UDP_BPS = 10e6
"""What the flow sends that does not react."""

EACH_USER_BPS = 10_450.0
EACH_CONNECTION_BPS = 1.5e6
"""What a web user, and what one connection a second, send on average in their own direction, responses, headers and
acknowledgements. Only the speed of calibration depends on them."""


@dataclass(frozen=True)
class Scheme:
    """A queue discipline as the paper runs it. `ecn`: hosts and queue use marks."""

    key: str
    label: str
    discipline: str
    sets: Sets = ()
    ecn: bool = False

    def overrides(self) -> Sets:
        """What it changes in a scenario whose flows are the two groups."""
        marks = (f"queue.{self.discipline}.action", "mark")
        hosts = (("flows.0.ecn", "true"), ("flows.1.ecn", "true"))
        return (("queue.discipline", self.discipline), *self.sets, *((marks, *hosts) if self.ecn else ()))


AMPLE = ("queue.limit", "1000")
"""Large enough that no queue under control overflows, as the paper has it."""

UNCONGESTED = Scheme(
    "uncongested", "uncongested", "drop_tail", (("network.rate", "1 Gbit/s"), ("queue.limit", "10000"))
)
DROP_TAIL = Scheme("drop-tail", "Drop Tail, 240 packets", "drop_tail", (("queue.limit", "240"),))
PI = Scheme("pi", "PI, q_ref 24", "pi", (("queue.pi.q_ref", "24"), AMPLE))
PI_ECN = Scheme("pi-ecn", "PI with ECN, q_ref 24", "pi", PI.sets, ecn=True)
DCN = Scheme("dcn", "DCN, q_ref 24", "dcn", (("queue.dcn.q_ref", "24"), AMPLE))
AFD = Scheme("afd", "AFD, q_ref 240", "afd", (("queue.afd.q_ref", "240"), AMPLE))
AFD_ECN = Scheme("afd-ecn", "AFD with ECN, q_ref 240", "afd", AFD.sets, ecn=True)
RIO_PS = Scheme("rio-ps", "RIO-PS", "rio_ps")
RIO_PS_ECN = Scheme("rio-ps-ecn", "RIO-PS with ECN", "rio_ps", ecn=True)
PI_240 = Scheme("pi-240", "PI, q_ref 240", "pi", (("queue.pi.q_ref", "240"), AMPLE))
PI_ECN_240 = Scheme("pi-ecn-240", "PI with ECN, q_ref 240", "pi", PI_240.sets, ecn=True)
PRINTED_LAW = Scheme("dcn-printed", "DCN, law as printed", "dcn", (*DCN.sets, ("queue.dcn.law", "printed")))

SCHEMES = (UNCONGESTED, DROP_TAIL, PI, PI_ECN, DCN, AFD, AFD_ECN, RIO_PS, RIO_PS_ECN)
"""The rows of Table 1."""

CONGESTED = SCHEMES[1:]

MIX_SCHEMES = (UNCONGESTED, DROP_TAIL, PI_ECN, DCN, AFD_ECN, RIO_PS_ECN)
"""The rows of Table 2."""

START_P = {
    "pi": {90: "0.015", 98: "0.035", 105: "0.05"},
    "pi-ecn": {90: "0.015", 98: "0.04", 105: "0.07"},
    "pi-240": {98: "0.015", 105: "0.03"},
    "pi-ecn-240": {98: "0.025", 105: "0.045"},
}
START_P_MIX = "0.015"
"""Where PI's probability starts: near what it comes to after some minutes, for the mix between what it comes to in the
two directions. It moves by about 0.01 in a minute, too slowly to start from 0; `pi-steady` checks where it goes."""

LONGER = 10
"""How many times as long the runs are that show what a longer run changes."""


FAR: Sets = tuple(
    (f"flows.{at}.{key}", value) for at in (0, 1) for key, value in (("rtt", "20 ms"), ("rtt_max", "300 ms"))
)


@dataclass(frozen=True)
class Case:
    """A scheme under a load: one experiment. `udp`: with a flow beside the users that does not react. `long`: of the
    first seed only, `LONGER` times as long as the others. `far`: the delays of 10 to 150 ms are of each way."""

    scheme: Scheme
    load: int | None
    udp: bool = False
    long: bool = False
    far: bool = False

    @property
    def id(self) -> str:
        """What results call it."""
        kinds = (("-udp", self.udp), ("-long", self.long), ("-far", self.far))
        return f"{self.scheme.key}-{self.load_name}" + "".join(end for end, is_so in kinds if is_so)

    @property
    def load_name(self) -> str:
        """The id of the load in the calibration's tables: the uncongested run's."""
        return "mix" if self.load is None else f"{self.load}"

    def overrides(self) -> Sets:
        """What it changes in its scenario, users or connections not counted."""
        sets = self.scheme.overrides() + (FAR if self.far else ())
        if self.scheme.discipline == "pi":
            sets += (("queue.pi.p_0", START_P_MIX if self.load is None else START_P[self.scheme.key][self.load]),)
        return sets

    def scenario(self) -> tuple[str, str]:
        """Its scenario and the name of its file."""
        text, name = api.read_scenario(MIX if self.load is None else WEB)
        if self.udp:
            text = text.replace("[run]\n", f'[[flows]]\nkind = "udp"\nrate = "{UDP_BPS:.0f} bit/s"\n\n[run]\n')
        return text, name


WEB_CASES = tuple(Case(scheme, load) for load in LOADS for scheme in CONGESTED)
MIX_CASES = tuple(Case(scheme, None) for scheme in MIX_SCHEMES[1:])
VARIANTS = tuple(Case(scheme, load) for load in (98, 105) for scheme in (PRINTED_LAW, PI_240, PI_ECN_240))
"""Runs beside the paper's, each with one thing changed."""
POLICED = Case(DCN, 90, udp=True), Case(DROP_TAIL, 90, udp=True)
FAR_CASES = tuple(Case(scheme, 98, far=True) for scheme in (DROP_TAIL, PI_ECN, DCN))
"""The other reading of the paper's delays: its round trips reach 400 ms."""
CASES = (*WEB_CASES, *MIX_CASES, *VARIANTS, *POLICED, *FAR_CASES)
LONG_CASES = tuple(Case(scheme, load, long=True) for load in (98, 105) for scheme in CONGESTED)

PAPER_S = 7200
"""The paper's runs take 120 minutes: then nothing is shown of longer ones."""

KEEP: Keep = {
    "links": (
        "link", "rate_bps", "utilisation", "arrivals_packets", "lost_packets", "lost_tail", "marked_packets",
        "queue_packets_mean",
    ),
    "flows": ("flow", "kind", "throughput_bps", "loss_ratio"),
    "response_times": ("response_bytes_max", "response_time_max_ns", "exchanges", "response_bytes"),
}  # fmt: skip
WITH_STATE: Keep = {**KEEP, "state": ("time_s", "link", "name", "value")}


def uncongested(settings: Settings, load: int | None) -> Load:
    """The uncongested run of a load, and the load."""
    case = Case(UNCONGESTED, load)
    text, name = case.scenario()
    sets = (*case.overrides(), *_length(settings))
    experiment = Experiment(case.id, text, name, sets, KEEP)
    if load is None:
        return Load(experiment, MIX_BPS, "arrivals", EACH_CONNECTION_BPS, 0.015)
    target = load / 100 * LINK_BPS
    return Load(experiment, (target, target), "count", EACH_USER_BPS, 0.0075)


def experiments(settings: Settings, calibration: Calibration) -> list[Experiment]:
    """Every congested case, with the users or connections that its load takes for each seed; the longest runs first, so
    that no core waits for them at the end."""
    result = []
    for case in (*(LONG_CASES if has_longer(settings) else ()), *CASES):
        text, name = case.scenario()
        state = not (case.udp or case.long or case.far) and case.scheme.discipline in ("dcn", "rio_ps", "pi")
        series = (("run.series", "true"),) if state else ()
        sets = (*case.overrides(), *_length(longer(settings) if case.long else settings), *series)
        amounts = calibration.by_seed(f"uncongested-{case.load_name}")
        if case.long:
            amounts = {settings.seeds[0]: calibration.on_average(f"uncongested-{case.load_name}")}
        keep, cost = WITH_STATE if state else KEEP, LONGER if case.long else 1
        result.append(Experiment(case.id, text, name, sets, keep, by_seed=amounts, cost=cost))
    return result


def has_longer(settings: Settings) -> bool:
    """Whether there are runs that are longer than these, but not than the paper's."""
    return longer(settings).duration_s <= PAPER_S


def longer(settings: Settings) -> Settings:
    """The length of the long runs."""
    return replace(settings, duration_s=LONGER * settings.duration_s, warmup_s=LONGER * settings.warmup_s)


def _length(settings: Settings) -> Sets:
    return (
        ("run.duration", f"{settings.duration_s} s"),
        ("run.warmup", f"{settings.warmup_s} s"),
        ("run.sample", f"{settings.sample_s} s"),
    )
