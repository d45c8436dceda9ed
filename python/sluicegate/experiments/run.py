"""One run: of a network that Python describes, or of a scenario file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from .. import _core, custom_aqm, traps
from ..custom_aqm import AqmFactory
from ..io import staged_file
from ..results import Run
from ..scenario import (
    PYTHON,
    Network,
    Sets,
    TrapWarning,
    arguments,
    factory,
    override_texts,
    read_scenario,
    scenario,
    warn,
    warn_traps,
    warn_unused,
)

if TYPE_CHECKING:
    from .._generated import Source

Progress = Callable[[float, float, int], object]
"""Called some 20 times a second with simulated seconds, seconds in all and events so far; may raise to end the run."""


def simulate(
    network: Network,
    flows: Source | Sequence[Source],
    *,
    duration: str | None = None,
    warmup: str | None = None,
    seed: int | None = None,
    sample: str | None = None,
    series: bool | None = None,
    exchanges: bool | None = None,
    recent: int | None = None,
    packets: int | None = None,
    positions: int | None = None,
    progress: Progress | None = None,
    pcap: Mapping[str, str | Path] | None = None,
) -> Run:
    """Simulate `flows` over `network` and return the results.

    `duration`: simulated time, of which `warmup` is left out of counters and means. `seed`: of every random stream.
    `sample`: the interval of the series; `series`: False leaves them out. `exchanges`: True keeps each
    request with its response.
    `recent`: how many of the last marks and losses `recent_share` looks at. `packets`: how many events of single
    packets the table `packets` keeps. `positions`: how many packets the table `positions` keeps.
    What is None takes the default that docs/reference/network.md lists under [run].
    `pcap`: links, and for each a pcapng file of what it sends; they appear whole or not at all.

    Raises `ScenarioError` when a value is wrong, TypeError when something is no network, discipline or source.
    KeyboardInterrupt, and whatever `progress` or a discipline of one's own raises, end the run.
    """
    settings = {"duration": duration, "warmup": warmup, "seed": seed, "sample": sample, "series": series}
    settings |= {"exchanges": exchanges, "recent": recent, "packets": packets, "positions": positions}
    text = scenario(network, flows, **settings)
    with arguments(**settings):
        return run_text(text, queue=factory(network.queue), progress=progress, pcap=pcap)


def run(
    file: str | Path,
    *,
    sets: Sets | None = None,
    seed: int | None = None,
    progress: Progress | None = None,
    pcap: Mapping[str, str | Path] | None = None,
) -> Run:
    """Run the scenario in `file`: a path, or the name of a bundled scenario (`scenarios()` lists them).

    `sets` and then `seed` override what the file says. `pcap`: see `simulate`. Raises `ScenarioError` and OSError.
    """
    text, name = read_scenario(file)
    return run_text(text, name, sets=sets, seed=seed, progress=progress, pcap=pcap)


def run_text(
    text: str,
    name: str = PYTHON,
    *,
    sets: Sets | None = None,
    seed: int | None = None,
    progress: Progress | None = None,
    queue: AqmFactory | None = None,
    pcap: Mapping[str, str | Path] | None = None,
) -> Run:
    """Run a scenario given as text. `name` stands for the file in messages.

    `queue`: the discipline written in Python that the text calls `custom_aqm.described(queue)`. `pcap`: see `simulate`.
    """
    pairs = override_texts(sets, seed)
    with arguments(seed=seed):
        warn_unused([_core.unused(text, name, pairs)])
        warn_traps(text, name, pairs)
    places = [Path(file).absolute() for file in (pcap or {}).values()]
    if twice := next((place for place in places if places.count(place) > 1), None):
        raise _core.ScenarioError(f"{twice}: two links cannot be written to one file")
    with ExitStack() as stack:
        captures = [(link, str(stack.enter_context(staged_file(file)))) for link, file in (pcap or {}).items()]
        done = Run(custom_aqm.run(text, name, pairs, progress, queue, captures))
    warn(traps.of_run(done.summary["scenario"], done), TrapWarning)
    return done
