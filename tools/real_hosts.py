"""Measure disciplines in simulation and between real hosts, and write the tables of docs/linux-hosts.md.

    sudo python tools/real_hosts.py [MIX or DISCIPLINE…]     what is missing, or was late: 40 minutes for all
    sudo python tools/real_hosts.py --anew [MIX or …]        all of it, or what is named, again
    python tools/real_hosts.py --simulations                 the simulations alone again, beside what real hosts gave
    python tools/real_hosts.py --page                        the tables alone, of what is kept

Real runs come from `compare --live`, one discipline and seed after another. Each is kept in docs/linux-hosts.jsonl as
soon as it is there, so that the same command goes on where it was stopped. They go before all other programs of the
machine; one that was late all the same is made again, `TRIES` times in all.

They are compared with the mean of simulations that are as on one machine. All hosts have one clock, whose phase differs
from one simulation to the next: the timers of a kernel expire at the same ticks, so that two retransmissions meet, and
their packets lie to those of a steady sender as they did at the start. Packets are late by up to 0.2 ms. Both draw anew
what otherwise stays the same for a whole run and decides whose packets are dropped. Lateness adds 0.1 ms at most, a
tenth of what is tolerated. Where nothing hangs on a hair simulations without either give the same, and the page names
the cells where they do not.
tests/test_real_hosts.py makes some simulations of both kinds again.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sluicegate as sg
from sluicegate.goals.measures import GROUP, LINK, SHARE, TWO_DIGITS, Metric, column, shares
from sluicegate.io import staged_file

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE, KEPT = DOCS / "linux-hosts.md", DOCS / "linux-hosts.jsonl"
BEGIN, END = "<!-- Written by tools/real_hosts.py. -->\n", "<!-- Until here. -->\n"

DISCIPLINES = ("drop_tail", "red", "choke", "choke_linux", "dcn", "pie", "codel", "fq_codel", "cake")
DURATION_S, WARMUP_S = 28, 6
JITTERS_US = range(110, 201, 10)
"""Packets of the simulations that real runs are compared with are late by up to so much."""
PHASE_STEP_MS = 204.9
"""By so much the clock of all hosts is ahead of what it was in the simulation before. A run between real hosts, too,
begins at any phase of the ticks (4 ms) and of the timer wheel's buckets (32 and 256 ms)."""
TRIES = 3

QUEUE = {"limit": 300, "min_th": 30, "max_th": 60}

TOLERANCE = {"%": 1.0, "ms": 1.0}
"""What simulation and real hosts may differ by, in points and ms; percentiles by what they resolve, too."""


@dataclass(frozen=True)
class Mix:
    """What shares the link. `rate` in Mbit/s, `delay` one way in ms; `measured`: what of each group the page shows."""

    about: str
    rate: int
    delay: int
    flows: str
    measured: dict[str, tuple[str, ...]]
    seeds: tuple[int, ...] = (1, 2)


USUAL = ("share", "loss", "p50", "p99")
MIXES = {
    "bulk": Mix(
        "Ten transfers with CUBIC on 10 Mbit/s, with base round trips of 20 to 40 ms",
        10,
        5,
        '{ name = "transfers", kind = "tcp", count = 10, algorithm = "cubic", rtt = "20 ms", rtt_max = "40 ms" }',
        {"transfers": ("loss", "p50", "p99")},
    ),
    "bulk and calls": Mix(
        "The [office](own-link.md#the-link-and-its-traffic): 50 transfers with CUBIC, five calls of 64 kbit/s and a "
        "backup of 15 Mbit/s by UDP on 20 Mbit/s, with a base round trip of 20 ms",
        20,
        10,
        '{ name = "transfers", kind = "tcp", count = 50, algorithm = "cubic" },\n'
        '{ name = "calls", kind = "udp", count = 5, rate = "64 kbit/s", packet_size = "200 B" },\n'
        '{ name = "backup", kind = "udp", rate = "15 Mbit/s" }',
        {"transfers": USUAL, "calls": ("loss", "p99"), "backup": USUAL},
        seeds=(1, 2, 3, 4, 5, 6),
    ),
    "web": Mix(
        "1000 users of the web, with CUBIC, on 10 Mbit/s, with base round trips of 20 to 40 ms",
        10,
        5,
        '{ name = "users", kind = "http", count = 1000, algorithm = "cubic", rtt = "20 ms", rtt_max = "40 ms" }',
        {"users": ("response_p50", "response_p99", "loss", "p50", "p99")},
    ),
    "flood": Mix(
        "32 transfers with Reno and UDP of 20 Mbit/s on 10 Mbit/s, in packets of 1000 bytes, with a base round trip of "
        "10 ms",
        10,
        5,
        '{ name = "transfers", kind = "tcp", count = 32, algorithm = "reno", packet_size = "1000 B" },\n'
        '{ name = "flood", kind = "udp", rate = "20 Mbit/s", packet_size = "1000 B" }',
        {"transfers": USUAL, "flood": USUAL},
    ),
}
LINK_SHOWN = ("utilisation", "queueing_delay")

REASONS: list[tuple[str, set[str], set[str], str]] = [
    (
        "flood", {"fq_codel"},
        {"transfers_loss_ratio", "transfers_delay_p50_ns", "transfers_delay_p99_ns", "flood_delay_p50_ns",
         "queueing_delay_mean_ns"},
        "The cause is the buffer of the sending socket. A real application fills it again as it drains, and the kernel "
        "tunes its size; a simulated application has written 4 MiB in advance. With such a buffer (`--sysctl "
        '"net.ipv4.tcp_wmem=4096 4194304 4194304"`) real hosts agree with the simulation: transfers lose 15.7 % with a '
        "median of 37.6 ms and a 99th percentile of 116.4 ms. Why the buffer matters is not known. One "
        "suspected reason, that bursts do not wait for more data (`tcp_tso_should_defer`), is excluded",
    ),
]  # fmt: skip
"""Why simulation and real hosts differ by more than `TOLERANCE` and more than chance explains: the mix, disciplines,
columns, and the reason. Each such cell has one, and no other."""

Values = dict[str, float]
Cell = dict[str, Any]
"""Of a mix, a discipline and a seed: the values of a `simulation` as other commands make it and of the `real` run, and
of the latter `kernel`, the share of packets that were more than 1 ms `late`, and whether it `kept_up`. Without a seed:
the `mean` of simulations as on one machine over all seeds, and the standard deviation of those of one seed (`spread`).
What a group without packets lacks is not there."""

Key = tuple[str, str, int | None]
KEYS: list[Key] = [(mix, name, seed) for mix in MIXES for name in DISCIPLINES for seed in (*MIXES[mix].seeds, None)]


def scenario(mix: str, jitter_us: int = 0) -> str:
    """The scenario of a mix. With `jitter_us` it is as on one machine: behind the link packets are late by up to so
    much, and all hosts have one clock."""
    about = MIXES[mix]
    flows = about.flows
    if jitter_us:
        phase_ms = PHASE_STEP_MS * JITTERS_US.index(jitter_us)
        flows = flows.replace(", algorithm =", f', clock_phase = "{phase_ms:.1f} ms", algorithm =')
    queue = ", ".join(f"{key} = {value}" for key, value in QUEUE.items())
    return (
        f'network = {{ rate = "{about.rate} Mbit/s", delay = "{about.delay} ms", jitter = "{jitter_us / 1000} ms" }}\n'
        f"queue = {{ {queue} }}\nflows = [\n{flows},\n]\n"
        f'run = {{ duration = "{DURATION_S} s", warmup = "{WARMUP_S} s", series = false }}\n'
    )


def shown(mix: str) -> Iterator[tuple[str, list[tuple[str, Metric]]]]:
    """The tables of a mix: of each group, and of the link, the columns of a comparison with what they measure."""
    for group, words in MIXES[mix].measured.items():
        metrics = [SHARE if word == "share" else GROUP[word] for word in words]
        yield group, [(column(group, metric), metric) for metric in metrics]
    yield "link", [(LINK[word].name, LINK[word]) for word in LINK_SHOWN]


def names(mix: str) -> list[str]:
    return [name for _, columns in shown(mix) for name, _ in columns]


# --- what is measured --------------------------------------------------------------------------


def compared(mix: str, discipline: str, seeds: Iterable[int], live: bool, jitter_us: int = 0) -> sg.Comparison:
    with warnings.catch_warnings():
        for category in (sg.TrapWarning, sg.RealHostsWarning):
            warnings.simplefilter("ignore", category)
        return sg.compare(scenario(mix, jitter_us), disciplines=discipline, seeds=seeds, live=live, progress=False)


def values(mix: str, row: dict[str, Any]) -> Values:
    """What the page shows of a row of `Comparison.runs`, in six digits; of simulations alone that has no shares."""
    row |= shares(row, list(MIXES[mix].measured))
    return {name: float(f"{row[name]:.6g}") for name in names(mix) if row[name] is not None}


def simulated(mix: str, discipline: str, seed: int) -> Values:
    return values(mix, compared(mix, discipline, [seed], live=False).runs.row(0, named=True))


def jittered(mix: str, discipline: str) -> Cell:
    """The simulations that are as on one machine."""
    runs = [compared(mix, discipline, MIXES[mix].seeds, live=False, jitter_us=us).runs.to_dicts() for us in JITTERS_US]
    rows = [[values(mix, row) for row in each] for each in runs]
    mean, spread = {}, {}
    for name in names(mix):
        of_seeds = [[run[name] for run in of_seed if name in run] for of_seed in zip(*rows, strict=True)]
        if all(len(each) > 1 for each in of_seeds):
            mean[name] = float(f"{statistics.mean(map(statistics.mean, of_seeds)):.6g}")
            spread[name] = float(f"{statistics.mean(map(statistics.variance, of_seeds)) ** 0.5:.3g}")
    return {"mix": mix, "discipline": discipline, "seed": None, "mean": mean, "spread": spread}


def measured(mix: str, discipline: str, seed: int) -> Cell:
    """A simulation and a run between real hosts."""
    with ahead_of_all():
        done = compared(mix, discipline, [seed], live=True)
    simulation, real = (values(mix, row) for row in done.runs.to_dicts())
    [clock] = done.summary["live"]["runs"]
    return {"mix": mix, "discipline": discipline, "seed": seed, "kernel": clock["kernel"],
            "late": float(f"{clock['late_packets'] / clock['packets']:.2g}"),
            "kept_up": clock["kept_up"] and not clock["lost_outside"],
            "simulation": simulation, "real": real}  # fmt: skip


@contextmanager
def ahead_of_all() -> Iterator[None]:
    """What begins in this block goes before all other programs. A nice value would let it go before those of the same
    terminal alone, where the kernel groups programs by it (`sched_autogroup`)."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except OSError as error:
        print(f"warning: no priority over other programs, which may make real runs late: {error}", file=sys.stderr)
    try:
        yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def measure(cells: dict[Key, Cell], missing: list[Key]) -> None:
    """Measure what is missing, and keep each cell as soon as it is there."""
    for place, (mix, discipline, seed) in enumerate(missing, 1):
        if seed is None:
            cells[mix, discipline, seed] = jittered(mix, discipline)
        for _ in range(0 if seed is None else TRIES):
            cell = cells[mix, discipline, seed] = measured(mix, discipline, seed)
            late = f"{100 * cell['late']:.2f} % late{'' if cell['kept_up'] else ', too many'}"
            print(f"{place} of {len(missing)}: {mix}, {discipline}, seed {seed}: {late}", flush=True)
            if cell["kept_up"]:
                break
        keep(cells)


def kept() -> dict[Key, Cell]:
    cells = [json.loads(line) for line in KEPT.read_text("utf-8").splitlines()] if KEPT.exists() else []
    return {(cell["mix"], cell["discipline"], cell["seed"]): cell for cell in cells}


def keep(cells: dict[Key, Cell]) -> None:
    """Write the file, whole or not at all."""
    with staged_file(KEPT) as new:
        new.write_text("".join(json.dumps(cells[key]) + "\n" for key in KEYS if key in cells), "utf-8")


# --- the page ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Difference:
    """Of a cell of the page, in the units shown: the mean of simulations, the mean over seeds of what is compared with
    it, and how far these lie apart by chance."""

    simulation: float
    other: float
    tolerance: float
    chance: float

    @property
    def value(self) -> float:
        return self.other - self.simulation

    @property
    def beyond(self) -> bool:
        """Whether it is more than the tolerance."""
        return abs(self.value) > self.tolerance

    @property
    def unexplained(self) -> bool:
        """Whether it is more than chance explains, too."""
        return self.beyond and abs(self.value) > self.chance


def difference(
    cells: dict[Key, Cell], mix: str, discipline: str, name: str, metric: Metric, kind: str = "real"
) -> Difference | None:
    """Of the runs of a `kind`, `real` or `simulation`, from the mean of simulations as on one machine; None where a
    run has no value. `chance` is three standard errors: of a mean over its seeds, and of one over `JITTERS_US`, too."""
    runs, late = [cells[mix, discipline, seed][kind] for seed in MIXES[mix].seeds], cells[mix, discipline, None]
    if name not in late["mean"] or any(name not in run for run in runs):
        return None
    simulation, other = (metric.factor * each for each in (late["mean"][name], statistics.mean(r[name] for r in runs)))
    tolerance = max(TOLERANCE[metric.unit], metric.resolution * max(simulation, other))
    share = (1 + 1 / len(JITTERS_US)) / len(runs)
    return Difference(simulation, other, tolerance, 3 * metric.factor * late["spread"][name] * share**0.5)


def unexplained(cells: dict[Key, Cell], kind: str = "real") -> list[tuple[str, str, str]]:
    """The mix, discipline and column of each difference that wants a reason."""
    return [
        (mix, discipline, name)
        for mix in MIXES
        for discipline in DISCIPLINES
        for _, columns in shown(mix)
        for name, metric in columns
        if (found := difference(cells, mix, discipline, name, metric, kind)) is not None and found.unexplained
    ]


def told() -> list[tuple[str, str, str]]:
    """Those that have one."""
    return [(mix, name, each) for mix, disciplines, columns, _ in REASONS for name in disciplines for each in columns]


def lines(cells: dict[Key, Cell]) -> Iterator[str]:
    """The tables, line by line."""
    runs = [cell for cell in cells.values() if cell["seed"] is not None]
    kernels = sorted({".".join(cell["kernel"].split(".")[:2]) for cell in runs})
    yield (
        f"Means of runs of {DURATION_S} s, of which the last {DURATION_S - WARMUP_S} s are "
        f"measured, on a machine with Linux {' and '.join(kernels)}. Buffers have {QUEUE['limit']} packets, RED and "
        f"CHOKe have thresholds of {QUEUE['min_th']} and {QUEUE['max_th']}; all other values are defaults. "
        f"In the worst run {100 * max(cell['late'] for cell in runs):.1f} % of the packets were more than 1 ms late."
    )
    late = [f"{cell['discipline']} with {cell['mix']}, seed {cell['seed']}" for cell in runs if not cell["kept_up"]]
    if late:
        yield f"The machine did not keep up in {len(late)} of {len(runs)} runs: {'; '.join(late)}."
    yield (
        "\nThe real hosts run in one kernel, so their timers expire at the same ticks. Processors were kept awake, as "
        "`compare --live` does: the median packet of real hosts left 1 µs late. For this comparison the simulated "
        "hosts share a clock, too (`clock_phase`), and packets are late by a random time. "
        f"The column *simulation* is the mean of {len(JITTERS_US)} simulations for each seed, "
        "each with a different phase of the clock and a different maximum lateness, "
        f"from {JITTERS_US[0] / 1000} to {JITTERS_US[-1] / 1000} ms. "
        "Other commands simulate hosts with a clock each, and packets that are not late. "
        "If their result differs significantly, a line below the tables gives it."
    )
    yield (
        f"\nA difference (taken before rounding) above {TOLERANCE['ms']:g} ms or {TOLERANCE['%']:g} percentage point, "
        f"and above the resolution of percentiles (1/{1 / TWO_DIGITS:.0f}), has ± three standard errors beside it. It "
        "is **bold** if it also exceeds these; its reason is then below the tables. A dash means that a run lacks the "
        "value, because no packet of the group arrived.\n"
    )
    for mix, about in MIXES.items():
        yield f"### {mix.capitalize()}\n\n{about.about}. Means of {len(about.seeds)} seeds.\n"
        for group, columns in shown(mix):
            yield f"| {group} | {' | '.join(heads(columns))} |"
            yield f"|---|{'---:|' * 3 * len(columns)}"
            for name in DISCIPLINES:
                row = [text for each in columns for text in texts(difference(cells, mix, name, *each))]
                yield f"| `{name}` | {' | '.join(row)} |"
            yield ""
        yield from single(cells, mix)
        for of_mix, disciplines, of_columns, reason in REASONS:
            if of_mix == mix:
                whose = ", ".join(f"`{name}`" for name in DISCIPLINES if name in disciplines)
                titles = [
                    f"{group}: {', '.join(word(metric) for name, metric in columns if name in of_columns)}"
                    for group, columns in shown(mix)
                    if any(name in of_columns for name, _ in columns)
                ]
                yield f"**{whose}** ({'; '.join(titles)}). {reason}.\n"


def single(cells: dict[Key, Cell], mix: str) -> Iterator[str]:
    """Where other commands' simulations are not like those as on one machine."""
    about, found = {name: metric for _, columns in shown(mix) for name, metric in columns}, []
    for of_mix, discipline, name in unexplained(cells, "simulation"):
        if of_mix == mix:
            each = difference(cells, mix, discipline, name, about[name], "simulation")
            assert each is not None
            found.append(f"`{discipline}`, {title(mix, name)}: {each.other:.1f} instead of {each.simulation:.1f}")
    if found:
        yield f"In other commands the simulation gives another value: {'; '.join(found)}.\n"


def heads(columns: list[tuple[str, Metric]]) -> Iterator[str]:
    for _, metric in columns:
        yield from (f"{word(metric)}: simulation", "real", "difference")


def word(metric: Metric) -> str:
    """What stands above its column elsewhere, with its unit."""
    return " ".join(metric.head.split())


def title(mix: str, name: str) -> str:
    return next(f"{group}, {word(metric)}" for group, columns in shown(mix) for each, metric in columns if each == name)


def texts(found: Difference | None) -> tuple[str, str, str]:
    """The three cells."""
    if found is None:
        return "–", "–", "–"
    value = f"{round(found.value, 1) + 0.0:+.1f}".replace("-", "−")  # no negative zero
    if found.beyond:
        value = f"{f'**{value}**' if found.unexplained else value} ± {found.chance:.1f}"
    return f"{found.simulation:.1f}", f"{found.other:.1f}", value


def page(cells: dict[Key, Cell]) -> str:
    """The page with the tables of what is kept."""
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    return before + BEGIN + "\n".join(lines(cells)) + "\n" + END + rest.partition(END)[2]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("named", nargs="*", metavar="NAME", help=f"of: {', '.join([*MIXES, *DISCIPLINES])}")
    parser.add_argument("--anew", action="store_true", help="measure what is kept, too")
    parser.add_argument("--simulations", action="store_true", help="make the simulations alone, anew")
    parser.add_argument("--page", action="store_true", help="measure nothing")
    asked = parser.parse_args(arguments)
    if unknown := set(asked.named) - {*MIXES, *DISCIPLINES}:
        parser.error(f"no mix or discipline here: {', '.join(sorted(unknown))}")
    mixes, disciplines = (set(asked.named) & set(all_of) or all_of for all_of in (MIXES, DISCIPLINES))
    chosen = [key for key in KEYS if key[0] in mixes and key[1] in disciplines]
    cells = kept()
    if asked.simulations:
        for mix, name, seed in chosen:
            if seed is None:
                cells[mix, name, seed] = jittered(mix, name)
            elif (mix, name, seed) in cells:
                cells[mix, name, seed]["simulation"] = simulated(mix, name, seed)
        keep(cells)
    elif not asked.page:
        if asked.anew:
            cells = {key: cell for key, cell in cells.items() if key not in chosen}
            keep(cells)
        measure(cells, [key for key in chosen if key not in cells or not cells[key].get("kept_up", True)])
    if missing := [key for key in KEYS if key not in cells]:
        print(f"{len(missing)} of {len(KEYS)} cells are missing; the page is as it was")
        return 1
    PAGE.write_text(page(cells), "utf-8")
    wanting, having = set(unexplained(cells)), set(told())
    for cell in sorted(wanting ^ having):
        print(f"{'wants a reason' if cell in wanting else 'has a reason that it does not want'}: {', '.join(cell)}")
    return int(wanting != having)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
