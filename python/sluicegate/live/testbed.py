"""A scenario between real hosts: the kernel's TCP and real datagrams on sockets, in two network namespaces, and between
them the scenario's network. A run takes as long as its scenario says. `experiments.real_hosts` tells what the kernel
replaces.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from .. import traps
from ..custom import aqm as custom_aqm
from ..experiments import real_hosts
from ..experiments.disciplines import Queue, one, read_under
from ..experiments.real_hosts import Algorithms, RealHostsWarning
from ..io import staged_file
from ..progress import shown
from ..quantities import in_base_unit
from ..results import Run
from ..scenario import Flows, Sets, TrapWarning, What, subject, warn
from . import access

Progress = Callable[[dict[str, Any]], object]
"""Called some four times a second with what the links are doing, as for `shell`; may raise to end the run."""


def testbed(
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
    algorithms: Algorithms | None = None,
    sysctls: Mapping[str, str | int] | None = None,
    pcap: str | Path | None = None,
    busy: bool = False,
    progress: Progress | bool | None = None,
) -> Run:
    """Run a network with its flows, or a scenario, between real hosts of this machine, and return the results.

    Hosts are sockets of the kernel in two network namespaces; links and queues are Sluicegate's, in real time: a run of
    20 s takes 20 s. `network` to `exchanges` as for `simulate`.
    `algorithms`: the kernel's congestion control for all flows, such as "bbr", or for each group by its name; without
    it the kernel's algorithm with the name of the scenario's `algorithm`. `sysctls`: settings of the kernel on both
    sides, such as {"net.ipv4.tcp_sack": 0}. `pcap`: a pcapng file of the links' packets, with a note at each drop.
    `busy`: never sleep; this occupies a processor and is more exact. `progress`: a function, True for a bar, False for
    none (default: a bar on a terminal and in a notebook).

    The tables are those of a simulated run, without the columns that only a simulator can fill. `summary["live"]` says
    whether the machine kept up, and how late packets were. A `RealHostsWarning`, and `remarks()` of the results, say
    where the kernel differs from the scenario, and what makes results doubtful.

    Raises `ScenarioError` when a value is wrong, real hosts cannot run the scenario, or this process lacks the rights,
    OSError when hosts cannot be made, and TypeError. KeyboardInterrupt ends the run, and so does any exception of
    `progress` or of your own discipline.

    >>> net = sg.dumbbell(rate="10 Mbit/s", delay="10 ms", queue=sg.Codel())
    >>> run = sg.testbed(net, sg.Udp(rate="1 Mbit/s"), duration="2 s", warmup="0 s")
    >>> run.groups["name"].to_list()
    ['udp']
    """
    about = subject(
        network, flows, sets=sets, duration=duration, warmup=warmup, seed=seed, sample=sample, series=series,
        exchanges=exchanges,
    )  # fmt: skip
    read = read_under(about, None if queue is None else one(queue))
    with about.told():
        read.core.try_making(custom_aqm.Maker(read.queue))
        queues = [read.resolved["queue"]["discipline"]]
        hosts = real_hosts.real_hosts(about, read.resolved, algorithms, sysctls, queues)
        access.require((), "testbed")
        read.warn(real=True)
        warn(hosts.notes, RealHostsWarning)
        with ExitStack() as stack:
            target = None if pcap is None else str(stack.enter_context(staged_file(pcap)))
            told = stack.enter_context(shown(progress, _said(read.resolved, Path(about.name).name)))
            status = None if told is None else lambda text: told(json.loads(text))
            done = Run(real_hosts.run(read.core, hosts, status, read.queue, busy=busy, pcap=target))
    warn(traps.of_run(done.summary["scenario"], done.links, done.queue), TrapWarning)
    warn([remark for remark in done.remarks() if remark not in hosts.notes], RealHostsWarning)
    return done


def _said(resolved: Mapping[str, Any], name: str) -> Callable[[Mapping[str, Any]], tuple[float, float, str]]:
    """What a bar is told, from what `Progress` is called with."""
    end = in_base_unit(resolved["run"]["duration"]) / 1e9
    return lambda status: (min(status["time_s"], end), end, name)
