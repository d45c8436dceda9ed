"""A discipline between two real Ethernet interfaces: frames that come in by one leave by the other, through a link."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .. import _core
from ..experiments.disciplines import Queue
from ..quantities import quantity
from ..results import Run
from ..scenario import ScenarioWarning, Sets, read_scenario, warn
from . import access
from .link import Direction, pace, plan

Progress = Callable[[dict[str, Any]], object]
"""Called four times a second with what the links are doing, as for `shell`; may raise to end the bridge:
KeyboardInterrupt and StopIteration are its normal end, anything else is raised again."""

NO_DELAY = "0 s"
"""A real network has delays of its own; what a scenario's link would have by default is not added."""


class InterfaceWarning(ScenarioWarning):
    """An interface is not set up as a transparent bridge needs.

    >>> import warnings
    >>> warnings.simplefilter("error", sg.InterfaceWarning)  # do not bridge interfaces that are not fit for it
    """


def bridge(
    upstream: str,
    downstream: str,
    *,
    rate: str | None = None,
    delay: str | None = None,
    jitter: str | None = None,
    loss: float | str | None = None,
    queue: Queue | None = None,
    link: str | Path | Mapping[str, Any] | None = None,
    down: Direction | None = None,
    up: Direction | None = None,
    sets: Sets | None = None,
    seed: int | None = None,
    flows: int | None = None,
    duration: str | None = None,
    pcap: str | Path | None = None,
    busy: bool = False,
    spin: str | None = None,
    progress: Progress | None = None,
    packets: bool = False,
) -> Run:
    """Carry frames between two interfaces, through a link in each direction, and return the results of the links.

    `upstream`, `downstream`: the names of two Ethernet interfaces that are up. Frames from the first to the second
    cross the link "down", frames in the other direction the link "up". `rate`, `delay`, `jitter`, `loss`: of the link,
    in both directions; without `delay` and `link` it adds no delay. `queue`: the discipline in both directions
    (default: Drop Tail). `link`: a bundled scenario's name, a file or a mapping, whose network and queue are the
    link's. `down`, `up`: values for only one direction: "rate=16 Mbit/s,queue=fq_codel", or a mapping, with the keys of
    a network's direction and `queue`. `sets`: more overrides. `seed`: of every random stream. `flows`: how many flows
    have their own row (default 20,000). `duration`: when to end. Without it the bridge runs until KeyboardInterrupt,
    and then returns the results as usual. `pcap`: a pcapng file of the links' packets, with a note at each drop.
    `busy`: never sleep; this occupies a processor and is more exact; `spin`: how long before a departure to stop
    sleeping. `progress`: a function; `packets`: pass it the waiting packets, as for `shell`.

    It also ends when an interface goes down or disappears; `summary["live"]["fault"]` then says so, and is None
    otherwise.

    An `InterfaceWarning` names problems of the interfaces. While the bridge runs, receive offloads that merge packets
    are off; they are restored at the end.

    Raises `ScenarioError` when a value is wrong or this process lacks the rights, with the remedy, OSError when an
    interface cannot be used, TypeError, and any exception of `progress` or of your own discipline.

    >>> run = sg.bridge("left", "right", rate="20 Mbit/s", queue="choke", duration="1 s")
    >>> run.links["link"].to_list()
    ['down', 'up']
    """
    both = {"rate": rate, "delay": _delay(delay, link), "jitter": jitter, "loss": loss}
    made = plan(both, queue, link, down, up, sets, seed)
    options = {
        "interfaces": [upstream, downstream],
        "duration_ns": None if duration is None else quantity("duration", duration, "run.duration"),
        "warmup_ns": 0,
        **pace(busy, spin, flows, packets),
    }
    access.require_interfaces()
    return made.run(_core.bridge, options, pcap, _told(progress))


def _delay(delay: str | None, link: str | Path | Mapping[str, Any] | None) -> str | None:
    """The delay of both directions: none, unless somebody has given one."""
    if delay is not None:
        return delay
    if link is None:
        return NO_DELAY
    text, _ = read_scenario(link)
    try:
        given = tomllib.loads(text).get("network", {})
    except tomllib.TOMLDecodeError:
        return None  # the core says why, with the line
    return None if isinstance(given, dict) and "delay" in given else NO_DELAY


def _told(progress: Progress | None) -> Callable[[str], None]:
    """What the core is given to tell: warnings first, then the status again and again."""
    failed: list[Warning] = []

    def told(text: str) -> None:
        status = json.loads(text)
        if "warnings" in status:
            try:
                warn(status["warnings"], InterfaceWarning)
            except Warning as error:  # they are errors here; the bridge ends in order when its status raises
                failed.append(error)
            return
        if failed:
            raise failed.pop()
        if progress is not None:
            progress(status)

    return told
