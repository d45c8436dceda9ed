"""DCN's parameters that the paper leaves open: what is run, what is measured of each run, and what of it matters.

Transfers of eight lengths offer 98 to 106 % of a link (`scenarios/long_and_short.toml`). The two control laws and the
two readings of pktcount run at 98 and at 106 %; each other parameter is varied alone, at 102 %. The traffic is
Sluicegate's, so that no number here is the paper's. The paper's own traffic belongs to the report on its tables and
figures.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from ...experiments.engine import Sets
from ...reproduce import FLOWS, LINK, Rows, Runs, Settings, Study, Variant, each_run, packets, percent

SCENARIO = "long_and_short"
RATE_BPS = 20e6
Q_REF = 24

MIX = ((1, 0.50), (2, 0.18), (4, 0.10), (8, 0.12), (16, 0.07), (50, 0.021), (200, 0.008), (1000, 0.001))
"""Transfers: full packets (of 1448 bytes of data) of each, and which part of all of them."""
PACKET, OVERHEAD = 1500, 156
"""Bytes of a full packet, and of the three packets without data that open and close a transfer, on the link."""

SHORT_GROUPS = tuple(group for group, (size, _) in enumerate(MIX) if size <= 8)
"""Transfers of up to 8 packets, 11.6 kB, are short: nine of ten, with a third of the bytes."""
LONG_GROUPS = tuple(range(len(SHORT_GROUPS), len(MIX)))
NEVER_JUDGED = tuple(group for group, (size, _) in enumerate(MIX) if size <= 2)
"""Transfers of so few packets stay below the default threshold, opening and closing included."""

LOADS = (0.98, 1.06)
ALONE = 1.02
"""The loads under which laws and readings meet, and the one at which parameters are varied alone."""
TRIALS = {0.98: 87.0, 1.06: 150.0}
"""Where trial runs of the printed law, under other traffic, held the queue."""


@dataclass(frozen=True)
class Varied:
    """A parameter varied alone: `key` as declared, `label` for axes, the `default` and the other values tried."""

    key: str
    label: str
    default: float
    others: tuple[float, ...]
    unit: str = ""
    absent: bool = False
    """Whether the default is no value, for which its number stands on an axis."""

    @property
    def name(self) -> str:
        """The label without unit."""
        return self.label.partition(" (")[0].partition(",")[0]

    @property
    def values(self) -> list[float]:
        """All of them, ascending."""
        return sorted((self.default, *self.others))

    def text(self, value: float) -> str:
        """The value as a scenario has it."""
        return f"{value:g} {self.unit}" if self.unit else f"{value:g}"

    def at(self, value: float) -> str:
        """The variant of one value; the default's, all parameters share."""
        return DEFAULT if value == self.default else f"{self.key}={value:g}"

    def sets(self, value: float) -> Sets:
        """Its overrides."""
        return ((f"queue.dcn.{self.key}", self.text(value)),)


CLASSIFICATION = (
    Varied("threshold", "threshold (packets)", 10, (0, 3, 6, 20, 40)),
    Varied("clearing", "clearing interval (ms)", 500, (50, 100, 2000), "ms"),
    Varied("sb_entries", "SB (entries)", 16384, (16, 64, 256)),
    Varied("hb_flows", "HB (flows)", 8192, (4, 16, 64)),
)
CONTROL = (
    Varied("gain", "gain, of a and b", 2 / 9, (0.02, 0.07, 0.5, 1)),
    Varied("t_update", "T_update (ms)", 6.25, (1.5625, 25, 100), "ms"),
    Varied("t_dec", "T_dec (ms)", 800, (200, 400, 1600, 3200), "ms"),
    Varied("p_ref_min", "least p_ref (packets)", 0.1, (1, 4, 16)),
    # More than the link sends in T_dec stands for none.
    Varied("p_ref_max", "most p_ref (packets; 10,000: none)", 10_000, (30, 100, 1000), absent=True),
)
VARIED = (*CLASSIFICATION, *CONTROL)
DEFAULT = "default"
LAWS, COUNTS = ("corrected", "printed"), ("forwarded", "arrived")


def counts(load: float, duration_s: float) -> list[int]:
    """How many transfers of each length of `MIX` begin in `duration_s` seconds, so that they offer `load`."""
    length = math.fsum(size * part for size, part in MIX) * PACKET + OVERHEAD
    transfers = load * RATE_BPS * duration_s / 8 / length
    return [max(1, round(transfers * part)) for _, part in MIX]


def offered(text: str, point: object, settings: Settings) -> str:
    """The scenario with as many transfers as offer the point's load in the length of the run."""
    load = LOAD_OF[point["load"].label]  # type: ignore[index]
    numbers = iter(counts(load, settings.duration_s))
    lines = []
    for line in text.splitlines():
        if line.startswith("count = "):
            line = f"count = {next(numbers)}"
        elif line.startswith("spread = "):
            line = f'spread = "{settings.duration_s:g} s"'
        lines.append(line)
    return "\n".join(lines) + "\n"


def tables_held(tables: dict[str, pl.DataFrame], settings: Settings) -> dict[str, pl.DataFrame]:
    """`held`: what DCN's tables held after the warm-up, one row: `hb` (flows in HB, mean over the samples), `hb_short`
    (which part of these is short, %) and `p_ref` (packets, median); null under another discipline."""
    state = tables["state"].filter(pl.col("time_s") >= settings.warmup_s)
    short = tables["flows"].filter(pl.col("group").is_in(SHORT_GROUPS))["flow"].max()
    of_whole = state.filter(pl.col("flow") == 0)
    in_hb = state.filter(pl.col("name") == "pktcount")["flow"]
    p_ref = sorted(of_whole.filter(pl.col("name") == "p_ref")["value"].to_list())
    row = {
        "hb": of_whole.filter(pl.col("name") == "hb_flows")["value"].mean(),
        "hb_short": 100 * (in_hb <= short).mean() if len(in_hb) else None,  # type: ignore[operator]
        "p_ref": p_ref[len(p_ref) // 2] if p_ref else None,
    }
    return {"held": pl.DataFrame([row], schema=dict.fromkeys(row, pl.Float64))}


def _hit(flows: pl.DataFrame) -> float:
    chosen = flows.filter(pl.col("group").is_in(SHORT_GROUPS) & (pl.col("arrivals_packets") > 0))
    return 100 * float((chosen["drops_packets"] > 0).mean())  # type: ignore[arg-type]


LONG = FLOWS.where(group=LONG_GROUPS)
MEASURES = {
    "queue": packets(LINK["queue_packets_mean"], "queue, mean"),
    "loss": percent(LINK["drops_packets"] / LINK["arrivals_packets"], "packets dropped"),
    "used": percent(LINK["utilisation"], "utilisation"),
    "tail": packets(LINK["drops_tail"], "packets dropped by a full buffer"),
    "arrived": packets(LINK["arrivals_packets"], "arrivals"),
    "short_hit": each_run(_hit, flows=("group", "arrivals_packets", "drops_packets")).as_("short transfers hit", "%"),
    "never_hit": packets(FLOWS.where(group=NEVER_JUDGED).sum("drops_early"), "packets dropped early"),
    "long_loss": percent(LONG.sum("drops_packets") / LONG.sum("arrivals_packets"), "loss of long transfers"),
}
HELD = {"hb": Rows("held")["hb"].as_("flows in HB"), "hb_short": Rows("held")["hb_short"].as_("of these short", "%"),
        "p_ref": packets(Rows("held")["p_ref"], "p_ref, median")}  # fmt: skip
LOAD_OF = {f"{100 * load:g} % load": load for load in (*LOADS, ALONE)}
AT = {load: Variant(label) for label, load in LOAD_OF.items()}


def study(loads: Sequence[float], queues: Mapping[str, Sets], dcn: bool = True) -> Study:
    """The transfers under these loads and queues; what is drawn over time, with two loads, is sampled twice as
    often."""
    measure = MEASURES | (HELD if dcn else {})
    return Study(
        SCENARIO,
        measure=measure,
        edit=offered,
        derive=tables_held if dcn else None,
        settings=lambda settings: replace(settings, sample_s=settings.sample_s / 2) if len(loads) > 1 else settings,
        tables={"queue": ("time_s", "queue_packets")} if dcn else {},
        load=[AT[load] for load in loads],
        queue=[Variant(label, sets) for label, sets in queues.items()],
    )


FORMS = {
    f"{law} law, {count}": (("queue.dcn.law", law), ("queue.dcn.count", count)) for law in LAWS for count in COUNTS
}
DROP_TAIL = "Drop Tail, 240 packets"
FAST = "five times as fast"
laws = study(LOADS, FORMS)
plain_queues = study(
    LOADS,
    {DROP_TAIL: (("queue.discipline", "drop_tail"), ("queue.limit", "240")), FAST: (("network.rate", "100 Mbit/s"),)},
    dcn=False,
)
alone = study([ALONE], {
    DEFAULT: (),
    **{each.at(value): each.sets(value) for each in VARIED for value in each.others},
})  # fmt: skip


def at(runs: Runs, queue: str, load: float = ALONE) -> Runs:
    """The runs of one queue under one load."""
    (chosen,) = (each for each in runs.values("queue") if each.label == queue)
    return runs.at(load=AT[load], queue=chosen)
