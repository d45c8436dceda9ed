"""A command of this machine behind an emulated link: real packets cross it, and the results are those of a run."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import _core
from ..experiments.disciplines import Queue
from ..results import Run
from ..scenario import Sets
from . import access
from .link import Direction, pace, plan

Progress = Callable[[dict[str, Any]], object]
"""Called some four times a second with what the link is doing; may raise to end it: after StopIteration there are
results of what was done until then. `time_s`; `links`, of each `name`, `discipline`, `rate_bps`, `throughput_bps`,
`queue_packets`, `queue_bytes`, `delay_p50_ms`, `delay_p99_ms` (None without packets), and since the beginning
`arrivals`, `drops` by reason, `marked`, `lost`; `flows`, of the 8 heaviest `name`, `link`, `throughput_bps`, `drops`;
`active_flows`, `late_packets`, and `lost_outside`: packets that devices have lost. With packets, of each link also
`waiting`: packet, flow and time in the queue in µs of all that wait, from the head on; and the discipline's `state`."""


def shell(
    command: str | Sequence[str] | None = None,
    *,
    rate: str | None = None,
    delay: str | None = None,
    jitter: str | None = None,
    loss: float | str | None = None,
    queue: Queue | None = None,
    link: str | Path | Mapping[str, Any] | None = None,
    down: Direction | None = None,
    up: Direction | None = None,
    peer: str | Sequence[str] | None = None,
    sets: Sets | None = None,
    seed: int | None = None,
    mtu: int | None = None,
    sysctls: Mapping[str, str | int] | None = None,
    pcap: str | Path | None = None,
    busy: bool = False,
    spin: str | None = None,
    flows: int | None = None,
    progress: Progress | None = None,
    packets: bool = False,
) -> Run:
    """Run `command` in a separate network namespace behind an emulated link, and return the results of the link.

    `command`: a program and its arguments, or a line for the shell; without one, the shell itself. As root it reaches
    the Internet, by network address translation. If `peer` is given, that runs at the other end instead.
    SLUICEGATE_ADDRESS has the command's own address, SLUICEGATE_PEER that of the other end. `rate`, `delay`, `jitter`,
    `loss`: of the link, in both directions. `queue`: the discipline in both directions (default: Drop Tail). `link`: a
    bundled scenario's name, a file or a mapping, whose network and queue are the link's. `down`, `up`: values for only
    the direction to the command, or from it: "rate=16 Mbit/s,queue=fq_codel,drop=5+8-10", or a mapping. The keys are
    those of a network's direction, including those for single packets, and `queue`. `sets`: more overrides. `seed`: of
    every random stream. `mtu`: the longest packet in bytes (default 1500). `sysctls`: settings of the command's network
    namespace, such as {"net.ipv4.tcp_ecn": 1}. `pcap`: a pcapng file of the link's packets, with a note at each drop.
    `busy`: never sleep; this occupies a processor and is more exact; `spin`: how long before a departure to stop
    sleeping. `flows`: how many flows have their own row (default 20,000). `progress`: a function; with `packets` it is
    called some twenty times a second, with the flows that wait in each queue.

    The exit code of `command` is `summary["live"]["exit_code"]`, that of `peer` `["peer_exit_code"]`, if it ended by
    itself. Raises `ScenarioError` when a value is wrong or this process lacks the rights, with the remedy, OSError when
    the link cannot be made, and TypeError. KeyboardInterrupt ends the command, and so does any exception of `progress`
    or of your own discipline.

    >>> run = sg.shell("true", rate="10 Mbit/s", delay="20 ms", queue="codel", peer="sleep 1")
    >>> run.summary["live"]["exit_code"]
    0
    """
    both = {"rate": rate, "delay": delay, "jitter": jitter, "loss": loss}
    made = plan(both, queue, link, down, up, sets, seed)
    far = None if peer is None else words(peer)
    options = {
        "command": words(command),
        "world": peer is None,
        "peer": far,
        "sysctls": {key: str(value) for key, value in (sysctls or {}).items()},
        **({} if mtu is None else {"mtu": mtu}),
        **pace(busy, spin, flows, packets),
    }
    access.require(far)
    told = None if progress is None else lambda status: progress(json.loads(status))
    return made.run(_core.shell, options, pcap, told)


def words(command: str | Sequence[str] | None) -> list[str]:
    """A command as the system takes it; the user's shell, or a line for it. Raises `ScenarioError` for an empty one."""
    own = os.environ.get("SHELL") or "/bin/sh"
    if command is None:
        return [own]
    if isinstance(command, str):
        return ["/bin/sh", "-c", command]
    if not command:
        raise _core.ScenarioError("command: a program is expected, not an empty list")
    return [str(word) for word in command]
