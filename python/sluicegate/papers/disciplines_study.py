"""DCN's parameters that the paper leaves open: what is run, and what is measured of each run.

Transfers of eight lengths offer 98 to 106 % of a link (`scenarios/long_and_short.toml`). The two control laws and the
two readings of pktcount meet both loads; each other parameter is varied alone, at 102 %. The traffic is ours, so that
no number here is the paper's [D]: its own traffic belongs to the report on its tables and figures.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import polars as pl

from .. import scenario as api
from ..experiments.engine import Experiment, Keep, Tables
from . import Settings
from .points import RUN, fold, mean

SCENARIO = "long_and_short"
RATE_BPS = 20e6
Q_REF = 24

MIX = ((1, 0.50), (2, 0.18), (4, 0.10), (8, 0.12), (16, 0.07), (50, 0.021), (200, 0.008), (1000, 0.001))
"""Transfers: full packets (of 1448 bytes of data) of each, and which part of all of them."""
PACKET, OVERHEAD = 1500, 156
"""Bytes of a full packet, and of the three packets without data that open and close a transfer, on the link."""

SHORT = 8
"""Transfers of so many packets or fewer, 11.6 kB, are short: nine of ten, with a third of the bytes."""
NEVER_JUDGED = 2
"""Transfers of so few packets stay below the default threshold, opening and closing included."""

LOADS = (0.98, 1.06)
ALONE = 1.02
"""The loads under which laws and readings meet, and the one at which parameters are varied alone."""


@dataclass(frozen=True)
class Case:
    """A queue under a load. `id` names its experiment; `value` of the parameter `key` is what it has of its own."""

    id: str
    load: float
    sets: tuple[tuple[str, str], ...] = ()
    key: str = ""
    value: float = math.nan


@dataclass(frozen=True)
class Varied:
    """A parameter varied alone: `key` as declared, `label` for axes, the `default` and the other values tried."""

    key: str
    label: str
    default: float
    others: tuple[float, ...]
    unit: str = ""

    def text(self, value: float) -> str:
        """The value as a scenario has it."""
        return f"{value:g} {self.unit}" if self.unit else f"{value:g}"


CLASSIFICATION = (
    Varied("threshold", "threshold (packets)", 6, (0, 2, 12, 24)),
    Varied("clearing", "clearing interval (ms)", 500, (50, 100, 2000), "ms"),
    Varied("sb_entries", "SB (entries)", 16384, (16, 64, 256)),
    Varied("hb_flows", "HB (flows)", 8192, (4, 16, 64)),
)
CONTROL = (
    Varied("b", "b, with a = b·1.7/1.8", 0.3, (0.03, 0.1, 1, 3)),
    Varied("ratio", "a/b, with b = 0.3", 1.7 / 1.8, (0.5, 0.8, 0.99)),
    Varied("t_update", "T_update (ms)", 6.25, (1.5625, 25, 100), "ms"),
    Varied("t_dec", "T_dec (ms)", 800, (200, 400, 1600, 3200), "ms"),
    Varied("p_ref_min", "least p_ref (packets)", 1, (0.1, 4, 16)),
    Varied("p_ref_max", "most p_ref (packets)", 1000, (30, 100, 10_000)),
)
VARIED = (*CLASSIFICATION, *CONTROL)

LAWS = ("corrected", "printed")
COUNTS = ("forwarded", "arrived")
DEFAULT_CASE = Case("study 102", ALONE)
BUCKETS = tuple(
    Case(f"study hb_buckets={value}", ALONE, (("queue.dcn.hb_buckets", str(value)),)) for value in (1, 64, 1024, 65_536)
)


def loaded(load: float, law: str, count: str) -> Case:
    """The case of a law and a reading under a load."""
    sets = (("queue.dcn.law", law), ("queue.dcn.count", count))
    return Case(f"study {100 * load:.0f} {law} {count}", load, sets)


def drop_tail(load: float) -> Case:
    """Drop Tail with the paper's 240 packets."""
    return Case(f"study {100 * load:.0f} drop_tail", load, (("queue.discipline", "drop_tail"), ("queue.limit", "240")))


def uncongested(load: float) -> Case:
    """Five times the rate, so that what is offered passes."""
    return Case(f"study {100 * load:.0f} uncongested", load, (("network.rate", "100 Mbit/s"),))


def varied(parameter: Varied, value: float) -> Case:
    """The case of one value; the default's is `DEFAULT_CASE`, which all parameters share."""
    if value == parameter.default:
        return DEFAULT_CASE
    set_ = ("queue.dcn.a", f"{0.3 * value:g}") if parameter.key == "ratio" else (
        f"queue.dcn.{parameter.key}", parameter.text(value)
    )  # fmt: skip
    return Case(f"study {parameter.key}={value:g}", ALONE, (set_,), parameter.key, value)


def cases() -> list[Case]:
    """Every case once."""
    return [
        *(uncongested(load) for load in LOADS),
        *(drop_tail(load) for load in LOADS),
        *(loaded(load, law, count) for load in LOADS for law in LAWS for count in COUNTS),
        DEFAULT_CASE,
        *BUCKETS,
        *(varied(parameter, value) for parameter in VARIED for value in parameter.others),
    ]


def counts(load: float, duration_s: float) -> list[int]:
    """How many transfers of each length of `MIX` begin in `duration_s` seconds, so that they offer `load`."""
    length = math.fsum(size * part for size, part in MIX) * PACKET + OVERHEAD
    transfers = load * RATE_BPS * duration_s / 8 / length
    return [max(1, round(transfers * part)) for _, part in MIX]


MEASURED: dict[str, tuple[str, ...]] = {
    "flows": ("group", "arrivals_packets", "lost_packets", "lost_early"),
    "links": ("link", "queue_packets_mean", "queue_packets_max", "utilisation", "arrivals_packets", "lost_packets",
              "lost_tail"),
    "state": ("time_s", "flow", "name", "value"),
}  # fmt: skip
"""What `points` looks at."""

KEEP: Keep = {
    "study": ("queue", "queue_max", "loss", "tail", "used", "arrived", "short_hit", "never_hit", "long_loss",
              "p_ref", "hb", "hb_short"),
    "course": ("time_s", "queue_packets"),
}  # fmt: skip


def experiments(settings: Settings) -> list[Experiment]:
    """Every case, for as long as `settings` say."""
    text, name = api.read_scenario(SCENARIO)
    result = []
    drawn = [loaded(load, law, COUNTS[0]) for load in LOADS for law in LAWS]
    for case in cases():
        numbers = counts(case.load, settings.duration_s)
        # What is drawn over time is sampled twice as often.
        sample = 500 * settings.sample_s if case in drawn else 1000 * settings.sample_s
        length = [("run.duration", f"{settings.duration_s} s"), ("run.warmup", f"{settings.warmup_s} s"),
                  ("run.sample", f"{sample} ms")]  # fmt: skip
        for group, number in enumerate(numbers):
            length += [(f"flows.{group}.count", str(number)), (f"flows.{group}.spread", f"{settings.duration_s} s")]
        result.append(
            Experiment(case.id, text, name, (*case.sets, *length), KEEP, derive=partial(measured, settings, case.id))
        )
    return result


def measured(settings: Settings, case: str, tables: Tables) -> Tables:
    """Of one run its row of `study`, which `points` makes, and `course`, its queue over time."""
    run = [pl.lit(case).alias("experiment"), pl.lit(0, dtype=pl.UInt64).alias("seed")]
    named = {name: tables[name].select(*run, *columns) for name, columns in MEASURED.items()}
    return {"study": points(settings, named).drop(RUN), "course": tables["queue"]}


def points(settings: Settings, results: Tables) -> pl.DataFrame:
    """One row for each run: `experiment`, `seed`, and

    `queue` (packets, mean), `queue_max`, `loss` (% of all packets), `tail` (packets), `used` (% of the link),
    `short_hit` (% of the short transfers that lost a packet), `never_hit` (packets that transfers of `NEVER_JUDGED`
    packets lost early), `long_loss` (% of the packets of transfers that are not short), `hb` (flows in HB, mean over
    the samples), `hb_short` (% of these that are short) and `p_ref` (packets, median). What a discipline without these
    tables has not is null."""
    links = results["links"]
    result = links.select(
        *RUN, queue="queue_packets_mean", queue_max=pl.col("queue_packets_max").cast(pl.Float64),
        loss=100 * pl.col("lost_packets") / pl.col("arrivals_packets"), tail=pl.col("lost_tail").cast(pl.Float64),
        used=100 * pl.col("utilisation"), arrived=pl.col("arrivals_packets").cast(pl.Float64),
    )  # fmt: skip
    sizes = pl.DataFrame({"group": range(len(MIX)), "size": [size for size, _ in MIX]}).with_columns(
        pl.col("group").cast(pl.UInt64)
    )
    flows = results["flows"].join(sizes, on="group")
    short = fold(
        flows.filter((pl.col("size") <= SHORT) & (pl.col("arrivals_packets") > 0)).with_columns(
            hit=(pl.col("lost_packets") > 0).cast(pl.Float64)
        ), RUN, short_hit=("hit", lambda hits: 100 * mean(hits)),
    )  # fmt: skip
    never = fold(flows.filter(pl.col("size") <= NEVER_JUDGED), RUN, never_hit=("lost_early", math.fsum))
    long = fold(
        flows.filter(pl.col("size") > SHORT), RUN,
        lost=("lost_packets", math.fsum), arrived=("arrivals_packets", math.fsum),
    ).select(*RUN, long_loss=100 * pl.col("lost") / pl.col("arrived"))  # fmt: skip
    for table in (short, never, long, _tables(settings, results)):
        result = result.join(table, on=RUN, how="left", maintain_order="left")
    return result


def _tables(settings: Settings, results: Tables) -> pl.DataFrame:
    """What DCN's tables held: `hb`, `hb_short` and `p_ref` of each run."""
    state = results["state"].filter(pl.col("time_s") >= settings.warmup_s)
    whole = state.filter(pl.col("flow") == 0)
    p_ref = fold(whole.filter(pl.col("name") == "p_ref"), RUN, p_ref=("value", _median))
    hb = fold(whole.filter(pl.col("name") == "hb_flows"), RUN, hb=("value", mean))
    # Flows are numbered in the order of their groups; how many there are differs with the load.
    ends = {}
    for case in cases():
        numbers = counts(case.load, settings.duration_s)
        ends[case.id] = sum(number for number, (size, _) in zip(numbers, MIX, strict=True) if size <= SHORT)
    last = pl.DataFrame({"experiment": list(ends), "last_short": list(ends.values())})
    held = state.filter(pl.col("name") == "pktcount").join(last, on="experiment").with_columns(
        short=(pl.col("flow").cast(pl.Int64) <= pl.col("last_short")).cast(pl.Float64)
    )  # fmt: skip
    shorts = fold(held, RUN, hb_short=("short", lambda values: 100 * mean(values)))
    return p_ref.join(hb, on=RUN, how="left", maintain_order="left").join(
        shorts, on=RUN, how="left", maintain_order="left"
    )


def _median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]
