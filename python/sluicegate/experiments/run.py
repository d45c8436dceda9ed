"""One run: of a network that Python describes, or of a scenario."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

from .. import _core, traps
from ..custom import aqm as custom_aqm
from ..io import staged_file
from ..progress import shown
from ..results import Run
from ..scenario import Flows, ReadScenario, Sets, TrapWarning, What, subject, warn
from .disciplines import Queue, one, read_under

Progress = Callable[[float, float, int], object]
"""Called some 20 times a second with simulated seconds, seconds in all and events so far; may raise to end the run."""


def simulate(
    network: What,
    flows: Flows | None = None,
    *,
    queue: Queue | None = None,
    sets: Sets | None = None,
    duration: str | None = None,
    warmup: str | None = None,
    seed: int | None = None,
    sample: str | None = None,
    series: bool | None = None,
    exchanges: bool | None = None,
    recent: int | None = None,
    packets: int | None = None,
    segments: int | None = None,
    positions: int | None = None,
    progress: Progress | bool | None = None,
    pcap: Mapping[str, str | Path] | None = None,
) -> Run:
    """Simulate a network with its flows, or a scenario, and return the results. `run` is another name for it.

    `network`: a network, with `flows`; or without them the name of a bundled scenario
    (`sluicegate.scenario.scenarios()` lists them), a file, the text of a scenario (a text of several lines, or with
    "="), or a scenario as a mapping, such as `summary["scenario"]` of a run.
    `queue`: a discipline in place of the scenario's own: a text such as "choke:candidates=2", an object such as
    `sluicegate.Choke(candidates=2)`, or a class of your own (see `Aqm`).
    `sets`: overrides: dotted keys of the scenario and their values.

    The arguments that follow override keys of [run]; docs/reference/network.md lists their defaults.

    `duration`: the simulated time. Counters and means leave out its beginning, `warmup`. `seed`: of every random
    stream. `sample`: the interval of the series. `series`: False leaves the series out. `exchanges`: True keeps each
    request with its response. `recent`: how many of the last marks and losses count for `recent_share`. `packets`: how
    many events of single packets the table `packets` keeps. `segments`: how many segments of TCP the table `segments`
    keeps. `positions`: how many packets the table `positions` keeps. `progress`: a function, True for a bar, False for
    none (default: a bar on a terminal and in a notebook). `pcap`: links, and for each a pcapng file for the packets
    that it sends. Files appear completely or not at all.

    Raises `ScenarioError` when a value is wrong, OSError, TypeError when an object is not a network, discipline or
    source. KeyboardInterrupt ends the run, and so does any exception of `progress` or of your own discipline.

    >>> net = sg.dumbbell(rate="1 Mbit/s", delay="10 ms", queue=sg.Choke(candidates=2))
    >>> run = sg.simulate(net, [sg.Tcp(4), sg.Udp(rate="2 Mbit/s")], duration="2 s", warmup="0 s")
    >>> run.groups.select("name", "flows").rows()
    [('tcp', 4), ('udp', 1)]
    """
    about = subject(
        network, flows, sets=sets, duration=duration, warmup=warmup, seed=seed, sample=sample, series=series,
        exchanges=exchanges, recent=recent, packets=packets, segments=segments, positions=positions,
    )  # fmt: skip
    read = read_under(about, None if queue is None else one(queue))
    with about.told():
        return run_read(read, progress, pcap)


run = simulate


def run_read(
    read: ReadScenario, progress: Progress | bool | None = None, pcap: Mapping[str, str | Path] | None = None
) -> Run:
    """Run a scenario that has been read. `progress`, `pcap`: see `simulate`."""
    read.warn()
    places = [Path(file).absolute() for file in (pcap or {}).values()]
    if twice := next((place for place in places if places.count(place) > 1), None):
        raise _core.ScenarioError(f"{twice}: two links cannot be written to one file")
    with ExitStack() as stack:
        captures = [(link, str(stack.enter_context(staged_file(file)))) for link, file in (pcap or {}).items()]
        told = stack.enter_context(shown(progress, lambda now, end, _: (now, end, Path(read.core.name).name)))
        done = Run(custom_aqm.run(read.core, told, read.queue, captures))
    warn(traps.of_run(done.summary["scenario"], done.links, done.queue), TrapWarning)
    return done
