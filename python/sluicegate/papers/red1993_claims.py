"""RED 1993: what the text claims without a figure, and Fig. 16: synchronisation, byte mode, misbehaving users, luck.

Measures:

- *Synchronisation* (Secs. I, III, V and VIII): the mean, over all pairs of flows, of the correlation between "the flow
  cut its window in this interval" and the same of the other, in intervals of 40 ms: twice the longest round trip of
  Fig. 4's network, so that losses of one moment are noticed within one interval. 0 where flows cut their windows
  independently of each other, 1 where all do so together. Cuts are fast retransmits and timeouts; the first 2 s are
  left out.
- *Byte mode* (Sec. IV): early drops per arrival of TELNET's packets over the same of FTP's.
- *Misbehaving users* (Sec. II-A): throughput of users with a fixed window over that of users with 4.3-Tahoe's.
- *Luck* (Sec. X): windows of time with about 100 drops each; how often a flow with a fixed part of the bandwidth has at
  least C times its part of a window's drops.
"""

from __future__ import annotations

import math

import numpy as np
import polars as pl

from .. import scenario as api
from ..experiments.engine import Experiment, Tables
from ..report import Choice
from . import Settings
from .points import RUN, mean
from .red1993 import KEEP, SERIES, Section

# Synchronisation ---------------------------------------------------------------------------------------------------

TOGETHER_S, LEFT_OUT_S = 0.04, 2.0
PAIRS = ((3, 17), (5, 22), (10, 30), (20, 42))
"""min_th of RED (max_th is three times as much) and the buffer with which Drop Tail keeps about the same queue."""

# Byte mode ---------------------------------------------------------------------------------------------------------

BYTES = (
    ("queue.red.mode", "byte"), ("queue.min_th", "10000 B"), ("queue.max_th", "60000 B"), ("queue.limit", "131000 B"),
)  # fmt: skip
MODES = {
    "packet": (("queue.min_th", "10"), ("queue.max_th", "60"), ("queue.limit", "1000")),
    "byte": BYTES,
    "byte, method 1": (*BYTES, ("queue.red.method", "1")),
}
TELNET = '[[flows]]\nkind = "telnet"\nprofile = "red1993"\ncount = 60\ninterval = "25 ms"\nspread = "0.1 s"\n'
FTP_FLOWS = 4
DEAF = "alike, sources that do not respond"
"""Packets of both lengths in packet mode, at a load of 1.02, from sources whose rate no drop changes."""
DEAF_FLOWS = "".join(
    f'[[flows]]\nkind = "poisson"\ncount = {count}\nrate = "{rate} bit/s"\npacket_size = "{size} B"\nspread = "0 s"\n'
    for count, rate, size in ((FTP_FLOWS, 11_280_000, 1000), (60, 13_120, 41))
)

# Misbehaving users ---------------------------------------------------------------------------------------------------

USERS = 5
WINDOWS = (8, 12, 16, 24, 32, 48)
"""Fixed windows of the misbehaving users, packets, on both sides of an equal share of line and buffer."""
OWN_WINDOW = 100
"""The largest window of the others: more than congestion control lets them have."""
GATEWAYS = ("random_drop", "early_random_drop")
MISBEHAVING = f"""
[network]
rate = "45 Mbit/s"
delay = "2 ms"
access_rate = "100 Mbit/s"
[queue]
discipline = "drop_tail"
limit = 60
[[flows]]
kind = "tcp"
profile = "red1993"
count = {USERS}
window = {OWN_WINDOW}
rtt = "20 ms"
[[flows]]
kind = "tcp"
profile = "red1993"
algorithm = "fixed"
count = {USERS}
window = {WINDOWS[0]}
rtt = "20 ms"
[run]
duration = "10 s"
"""

EQUAL_WINDOW = (45e6 * 0.020 / 8000 + 60) / (2 * USERS)
"""Packets: 112.5 on the line and 60 in the buffer, for ten users. Who always has more under way takes more."""

# Luck ----------------------------------------------------------------------------------------------------------------

MARKS = 100
MULTIPLES = (2, 4)
"""The lines of Fig. 16."""
SHARES = (0.04, 0.06, 0.1, 0.2, 0.6)
"""Parts of the bandwidth that the flows have."""
LOAD = 1.02
"""Times the link's rate: RED then drops about one packet in fifty."""
LUCK_BPS = 10_000_000
LUCK = (
    '[network]\nrate = "10 Mbit/s"\naccess_rate = "100 Mbit/s"\n[queue]\ndiscipline = "red"\nlimit = 1000\n'
    + "".join(
        f'[[flows]]\nkind = "poisson"\nrate = "{share * LOAD * LUCK_BPS:.0f} bit/s"\nspread = "0 s"\n'
        for share in SHARES
    )
    + '[run]\nduration = "10 s"\n'
)

CHOICES = (
    Choice("No global synchronisation", "no measure", "the mean correlation, over pairs of flows, of window cuts in "
           "intervals of 40 ms, on the network of Fig. 4 with all four transfers from the start on", "0 when the flows "
           "cut their windows independently, 1 when all do so together; Drop Tail's buffer is such that it keeps "
           "about the same average queue"),
    Choice("Byte mode", "thresholds in bytes are not given", "10 and 60 packets of 1000 bytes, four FTP connections "
           "and 60 TELNET sessions of 40 keystrokes a second", "the average stays between the thresholds, where "
           "chance decides"),
    Choice("Misbehaving users", "Zhang's 1989 thesis: roughly 75 % more throughput; neither network nor misbehaviour "
           "is described", "five hosts without congestion control (a fixed window) beside five of 4.3-Tahoe on a line "
           "of 20 ms with a buffer of 60 packets; windows from 8 to 48 packets", "the number depends on the window, "
           "so that the paper's is set between those of neighbouring windows"),
    Choice("Luck", "each mark falls on connection i with probability p_i", "Poisson sources with fixed parts of a load "
           "of 1.02 at a RED gateway; windows of time with about 100 drops", "the assumption, made true in simulation"),
)  # fmt: skip

COMMANDS = (
    "sluicegate run red1993_fig3 --set run.duration=20s",
    'sluicegate run red1993_fig3 --set run.duration=20s --set queue.discipline=drop_tail --set queue.limit="22"',
)


def experiments(settings: Settings) -> list[Experiment]:
    """Twice `duration_s` for synchronisation, twenty times for luck, once for the rest."""
    length = settings.duration_s
    text, name = api.read_scenario("red1993_fig3")
    start = tuple((f"flows.{group}.start", "0 s") for group in range(4))
    ready = tuple((f"flows.{group}.overhead", "0.17 ms") for group in range(4))
    long = (*start, ("run.duration", f"{2 * length + LEFT_OUT_S:g} s"), ("run.sample", f"{1000 * TOGETHER_S:g} ms"))
    result = []
    for min_th, buffer in PAIRS:
        red = (("queue.min_th", str(min_th)), ("queue.max_th", str(3 * min_th)))
        drop_tail = (("queue.discipline", "drop_tail"), ("queue.limit", str(buffer)), *ready)
        result.append(Experiment(f"together red {min_th}", text, name, (*red, *long), SERIES))
        result.append(Experiment(f"together drop_tail {buffer}", text, name, (*drop_tail, *long), SERIES))
    short = (("run.duration", f"{length} s"), ("run.series", "false"))
    with_telnet = text.replace("[run]\n", TELNET + "[run]\n")
    for mode, sets in MODES.items():
        result.append(Experiment(f"bytes {mode}", with_telnet, name, (*sets, *short), KEEP))
    head, tail = text.split("[[flows]]", 1)[0], text[text.index("[run]") :]
    deaf = (*MODES["packet"], ("run.packets", "0"), *short)
    result.append(Experiment(DEAF, head + DEAF_FLOWS + tail, name, deaf, KEEP))
    for gateway in GATEWAYS:
        for window in WINDOWS:
            sets = (("queue.discipline", gateway), ("flows.1.window", str(window)), *short)
            result.append(Experiment(f"users {gateway} {window}", MISBEHAVING, "misbehaving.toml", sets, KEEP))
    luck = (("run.duration", f"{20 * length} s"), ("run.sample", "50 ms"))
    result.append(Experiment("fig16 luck", LUCK, "luck.toml", luck, SERIES))
    return result


def together(results: Tables) -> pl.DataFrame:
    """For each run: `experiment`, `seed`, `correlation` as defined above, `most_share` (of the intervals in which any
    flow cut its window, those in which at least three of the four did) and `queue_packets` found by arrivals."""
    series = results["flow_series"].filter(
        pl.col("experiment").str.starts_with("together") & (pl.col("time_s") > LEFT_OUT_S + 1e-9)
    )
    rows = []
    for key, run in series.group_by(RUN, maintain_order=True):
        flows = [part["window_cuts"].to_list() for _, part in run.group_by("flow", maintain_order=True)]
        cut = np.array(flows) > 0
        at_once = cut.sum(axis=0)
        any_cut = int((at_once >= 1).sum())
        rows.append((*key, correlation(cut), int((at_once >= 3).sum()) / any_cut if any_cut else math.nan))
    table = pl.DataFrame(
        rows, schema={"experiment": pl.String, "seed": pl.UInt64, "correlation": pl.Float64, "most_share": pl.Float64},
        orient="row",
    )  # fmt: skip
    queue = results["links"].select(*RUN, queue_packets="queue_found_packets_mean")
    return table.join(queue, on=RUN, how="left", maintain_order="left")


def correlation(events: np.ndarray) -> float:
    """The mean correlation of all pairs of rows (flows) over columns (intervals); NaN if fewer than two rows vary."""
    count = events.shape[1]
    varying = [row for row in events.astype(bool) if 0 < row.sum() < count]
    pairs = []
    for at, first in enumerate(varying):
        for second in varying[:at]:
            a, b, both = int(first.sum()), int(second.sum()), int((first & second).sum())
            pairs.append((count * both - a * b) / math.sqrt(a * (count - a) * b * (count - b)))
    return mean(pairs) if pairs else math.nan


def byte_mode(results: Tables) -> pl.DataFrame:
    """For each run in packet and byte mode: `ftp_loss`, `telnet_loss` (early drops per arrival, %), `ratio` (TELNET's
    over FTP's) and `length_ratio` (the mean length of a TELNET packet over FTP's 1000 bytes)."""
    flows = results["flows"].filter(pl.col("experiment").str.starts_with("bytes"))
    rows = []
    for key, run in flows.group_by(RUN, maintain_order=True):
        small = pl.col("kind") == "telnet"
        losses, lengths = [], []
        for part in (run.filter(~small), run.filter(small)):
            lost, arrived, bits, sent = (
                math.fsum(part[column].to_list())
                for column in ("lost_early", "arrivals_packets", "offered_bps", "sent_packets")
            )
            losses.append(100 * lost / max(1.0, arrived))
            lengths.append(bits / max(1.0, sent))
        rows.append((*key, *losses, losses[1] / losses[0] if losses[0] else math.nan, lengths[1] / lengths[0]))
    columns = ("ftp_loss", "telnet_loss", "ratio", "length_ratio")
    schema = {"experiment": pl.String, "seed": pl.UInt64, **dict.fromkeys(columns, pl.Float64)}
    return pl.DataFrame(rows, schema=schema, orient="row")


def deaf_ratios(results: Tables) -> list[float]:
    """By seed: early drops per arrival of short packets over those of long ones, of sources that do not respond."""
    flows = results["flows"].filter(pl.col("experiment") == DEAF).sort("seed", "flow", maintain_order=True)
    ratios = []
    for _, run in flows.group_by("seed", maintain_order=True):
        long, short = (
            math.fsum(part["lost_early"].to_list()) / math.fsum(part["arrivals_packets"].to_list())
            for part in (run.filter(pl.col("flow") <= FTP_FLOWS), run.filter(pl.col("flow") > FTP_FLOWS))
        )
        ratios.append(short / long if long else math.nan)
    return ratios


def misbehaving(results: Tables) -> pl.DataFrame:
    """For each run: `gateway`, `window` and `gain`: how many per cent the misbehaving users' throughput is higher."""
    flows = results["flows"].filter(pl.col("experiment").str.starts_with("users"))
    rows = []
    for (experiment, seed), run in flows.group_by(RUN, maintain_order=True):
        _, gateway, window = str(experiment).split(" ")
        fixed = pl.col("algorithm") == "fixed"
        got = [mean(run.filter(which)["throughput_bps"].to_list()) for which in (~fixed, fixed)]
        rows.append((seed, gateway, int(window), 100 * (got[1] / got[0] - 1)))
    schema = {"seed": pl.UInt64, "gateway": pl.String, "window": pl.UInt64, "gain": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def windows_of_drops(results: Tables) -> dict[int, np.ndarray]:
    """By seed: the drops of each flow in consecutive windows of time that end once they have `MARKS` drops; rows are
    windows, columns flows."""
    series = results["flow_series"].filter(pl.col("experiment") == "fig16 luck")
    result = {}
    for (seed,), run in series.group_by("seed", maintain_order=True):
        lost = run["lost_packets"].to_numpy().astype(np.int64).reshape(-1, len(SHARES))
        total = np.cumsum(lost, axis=0)
        cuts, reached = [], 0
        for at, marks in enumerate(total.sum(axis=1)):
            if marks - reached >= MARKS:
                cuts.append(at)
                reached = marks
        ends = total[cuts] if cuts else np.zeros((0, len(SHARES)), dtype=np.int64)
        result[int(seed)] = np.diff(ends, axis=0, prepend=0)
    return result


def frequency(windows: np.ndarray, flow: int, c: float) -> float:
    """The part of the windows in which flow number `flow` has at least `c` times its part of the drops."""
    n = windows.sum(axis=1)
    return float((windows[:, flow] >= c * SHARES[flow] * n - 1e-9).mean()) if len(windows) else math.nan


def binomial(windows: np.ndarray, flow: int, c: float) -> float:
    """The same by the binomial law, exactly, each window with its own number of drops."""
    from scipy.stats import binom

    p = SHARES[flow]
    chances = [float(binom.sf(math.ceil(c * p * n - 1e-9) - 1, n, p)) for n in windows.sum(axis=1).tolist()]
    return mean(chances) if chances else math.nan


def section(settings: Settings, results: Tables) -> Section:
    """Fig. 16 and the claims, with their checks."""
    from . import red1993_claims_checks, red1993_claims_figures

    return Section(red1993_claims_figures.figures(settings, results), red1993_claims_checks.checks(results))
