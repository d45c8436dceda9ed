"""Scenarios between real hosts: which keys of a scenario the kernel's hosts support, and one run of them.

The kernel's TCP takes the place of the simulated hosts; network and queues stay Sluicegate's. Of what a group says:

| key | between real hosts |
|---|---|
| `algorithm` | the kernel's: `reno`, `newreno` and `sack` are its reno, `cubic`, `vegas`, `bbr`, `dctcp` and `prague` those of that name; others are refused unless an algorithm of the kernel's is named instead |
| `window` | done: the receiver's buffer |
| `packet_size` | done: the longest segment |
| `ecn`, `size`, `handshake = true`, `closing = true` | done |
| all that is no property of a TCP host: `count`, times, rates, sizes, paths, round trips, `class`, `priority`, `host` | done |
| the keys in `REPLACED` | the kernel decides. If the scenario states such a key, a remark says so, except for a default value (for Linux's hosts, the value of their profile) |
| `handshake = false`, `closing = false`, `ns2_rules = true`, `send_jitter` above 0 s | refused, unless the group names a `profile` that has this value |
| `header_size` below 40 B, `[[changes]]`, `run.packets`, `run.segments`, `run.positions` | refused by the core |
"""  # noqa: E501

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .. import _core
from ..custom import aqm as custom_aqm
from ..declarations import declarations, defaults
from ..declared import what_is
from ..quantities import did_you_mean, in_base_unit
from ..scenario import ScenarioWarning, Subject
from ..traps.words import amount

Resolved = Mapping[str, Any]

REPLACED = (
    "profile", "header_size", "initial_window", "initial_ssthresh", "min_rto", "max_rto", "initial_rto",
    "syn_linear_timeouts", "clock_tick", "clock_phase", "limited_transmit", "delayed_ack", "source_quench", "ns2_rules",
    "vegas_rules", "vegas_alpha", "vegas_beta", "vegas_gamma", "vegas_cut", "ledbat_target", "ledbat_gain",
    "slow_start_exit", "gso",
)  # fmt: skip
"""Keys of a TCP host that the kernel's own TCP replaces."""

KEPT = ("window", "packet_size")
"""Those of a profile that hold between real hosts, too."""

REFUSED: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "handshake": (lambda value: value is False, "the kernel opens every connection with a handshake"),
    "closing": (lambda value: value is False, "the kernel closes every connection that ends"),
    "ns2_rules": (lambda value: value is True, "the kernel's hosts are not those of ns-2"),
    "send_jitter": (lambda value: in_base_unit(value) > 0, "the kernel sends when it can"),
    "controller": (lambda value: True, "the kernel has its own congestion controls: name one with --algorithm"),
}
"""Keys of a TCP host, which of their values the kernel cannot have, and why."""

QUEUES = {
    "source_quench": "hosts of today ignore source quench (RFC 6633)",
    "decbit": "TCP/IP headers do not have its bit, and no sender of the kernel reacts to it",
    "ut_lt": "TCP/IP headers do not have its label, and no sender of the kernel reacts to it",
}
"""Disciplines that work by what the kernel's hosts do not have, and what that is."""

RECENT = 100
"""What `run.recent` is where nobody says."""

RENO = ("reno", "newreno")
"""Algorithms that the kernel's reno stands for, but which recover otherwise on the papers' hosts."""


class RealHostsWarning(ScenarioWarning):
    """Real hosts differ from their scenario, or the results of real packets are doubtful.

    >>> import warnings
    >>> warnings.simplefilter("ignore", sg.RealHostsWarning)  # `Run.remarks` still tells it
    """


@dataclass(frozen=True)
class RealHosts:
    """That a scenario is run between real hosts, and how: part of what a run depends on.

    `algorithms`: the kernel's congestion control by group; "*" is any other group. `sysctls`: settings of the kernel in
    both namespaces. `notes`: sentences for the results. `kernel`: its release.
    """

    algorithms: tuple[tuple[str, str], ...] = ()
    sysctls: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    kernel: str = ""

    @property
    def key(self) -> dict[str, Any]:
        """What tells its runs from others."""
        return {"algorithms": self.algorithms, "sysctls": self.sysctls, "kernel": self.kernel}

    @property
    def record(self) -> dict[str, Any]:
        """What a summary says of it."""
        return {"kernel": self.kernel, "algorithms": dict(self.algorithms), "sysctls": dict(self.sysctls),
                "warnings": list(self.notes)}  # fmt: skip


Algorithms = str | Mapping[str, str]
"""A congestion control of the kernel for all groups, or one for each of some groups by name."""


def real_hosts(
    about: Subject,
    resolved: Resolved,
    algorithms: Algorithms | None = None,
    sysctls: Mapping[str, str | int] | None = None,
    queues: Iterable[str] = (),
) -> RealHosts:
    """How a scenario is run between real hosts. `resolved`: with every default filled in; `queues`: the disciplines it
    is run under. Raises `ScenarioError` for what real hosts cannot do, with the reason, and TypeError."""
    by_group = algorithms_of(algorithms, [flow["name"] for flow in resolved["flows"]])
    given = given_keys(about)
    for queue in queues:
        if queue in QUEUES:
            raise _core.ScenarioError(f"queue.discipline = {json.dumps(queue)}: between real hosts {QUEUES[queue]}")
    for index, flow in enumerate(resolved["flows"]):
        _check_host(about.name, index, flow, given[index] if index < len(given) else set())
    said = tuple(notes(resolved, given, by_group))
    settings = _texts(sysctls, "sysctls", "net.ipv4.tcp_sack")
    return RealHosts(tuple(sorted(by_group.items())), tuple(sorted(settings.items())), said, os.uname().release)


def algorithms_of(algorithms: Algorithms | None, groups: Sequence[str]) -> dict[str, str]:
    """The kernel's algorithm by group, "*" for others. Raises `ScenarioError` for an unknown group, and TypeError."""
    if isinstance(algorithms, str):
        algorithms = {"*": algorithms}
    found = _texts(algorithms, "algorithms", "tcp")
    for group, algorithm in found.items():
        if group != "*" and group not in groups:
            hint = did_you_mean(group, groups, f"groups: {', '.join(dict.fromkeys(groups))}")
            raise _core.ScenarioError(f"algorithms: {group}: no such group of flows{hint}")
        if not algorithm:
            raise _core.ScenarioError(f"algorithms: {group}: name one, such as bbr")
    return found


def _texts(given: Mapping[str, str | int] | None, argument: str, such_as: str) -> dict[str, str]:
    """A mapping with its values as texts. Raises TypeError."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise TypeError(f'{argument}: expected a mapping such as {{"{such_as}": …}}, not {what_is(given)}')
    return {str(key): str(value) for key, value in given.items()}


def given_keys(about: Subject) -> list[set[str]]:
    """The keys that a scenario and its overrides give to each group."""
    document = tomllib.loads(about.text())
    groups = [set(flow) for flow in document.get("flows", []) if isinstance(flow, Mapping)]
    for key, _ in about.sets:
        first, _, rest = key.partition(".")
        index, _, name = rest.partition(".")
        if first == "flows" and name and index.isdigit() and int(index) < len(groups):
            groups[int(index)].add(name.partition(".")[0])
    return groups


def _check_host(file: str, index: int, flow: Resolved, given: set[str]) -> None:
    """Raise `ScenarioError` for what a group asks for and the kernel cannot do. What its profile says is replaced."""
    for key, (cannot, why) in REFUSED.items():
        if key not in given or key not in flow or not cannot(flow[key]):
            continue
        if flow[key] != profile_values(flow["profile"] if "profile" in given else "linux").get(key):
            value = json.dumps(flow[key])
            raise _core.ScenarioError(f"{file}: flows.{index}.{key} = {value}: impossible between real hosts: {why}")


def profile_values(name: str) -> dict[str, Any]:
    """What a profile says of a host, by key."""
    profiles = {each["name"]: each["values"] for each in declarations()["profiles"]}
    return {"profile": name} | {each["name"]: each["value"] for each in profiles[name]}


def notes(resolved: Resolved, given: Sequence[set[str]], algorithms: Mapping[str, str]) -> list[str]:
    """What the kernel does otherwise than a scenario says, a sentence for the groups that are alike in it."""
    replaced: dict[tuple[str, ...], list[str]] = {}
    others: dict[str, list[str]] = {}
    brought: dict[str, list[str]] = {}
    for flow, keys in zip(resolved["flows"], given, strict=False):
        if "algorithm" not in flow:
            continue
        linux = flow["profile"] == "linux"
        usual = defaults("sources", flow["kind"]) | (
            profile_values("linux") if linux else {}
        )  # an object states them too
        found = tuple(
            key for key in REPLACED if key in keys and (usual.get(key) is None or flow.get(key) != usual[key])
        )
        if found:
            replaced.setdefault(found, []).append(flow["name"])
        word, own = flow["algorithm"], algorithms.get(flow["name"], algorithms.get("*"))
        if own is None and word in RENO and not linux:
            others.setdefault(word, []).append(flow["name"])
        if not linux and "profile" not in keys and (kept := [key for key in KEPT if key in flow and key not in keys]):
            values = " and ".join(f"{key} = {amount(flow[key])}" for key in kept)
            said = f"algorithm = {word} implies profile = {flow['profile']}; real hosts use its {values}, too"
            brought.setdefault(said, []).append(flow["name"])
    sentences = [f"{_names(groups)}: the kernel's TCP ignores {', '.join(keys)}" for keys, groups in replaced.items()]
    sentences += [
        f"{_names(groups)}: the kernel's reno recovers from losses by SACK, unlike {word} of the papers' hosts; "
        "profile = linux simulates the kernel's"
        for word, groups in others.items()
    ]
    sentences += [f"{_names(groups)}: {said}; set other values to change that" for said, groups in brought.items()]
    if resolved["run"]["recent"] != RECENT:
        sentences.append("run.recent does nothing: only simulated runs have shares of recent drops")
    return sentences


def _names(groups: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(groups))


CLOCK: Mapping[str, Any] = {
    "kernel": str, "kept_up": bool, "packets": int, "late_packets": int, "lateness_p50_ns": float,
    "lateness_p99_ns": float, "lateness_max_ns": int, "lost_outside": int,
}  # fmt: skip
"""The columns of the table that says of a run how well the clock was kept."""


def clock(live: Mapping[str, Any]) -> dict[str, Any]:
    """The row of that table. `live`: of the summary of a run."""
    outside = ("device_packets", "unreadable_packets", "datagrams", "segments", "refused_packets")
    lost = sum(end[key] for end in live["losses"] for key in outside)
    return {name: live[name] for name in CLOCK if name != "lost_outside"} | {"lost_outside": lost}


def doubts(runs: Sequence[Mapping[str, Any]]) -> list[str]:
    """What makes runs doubtful, in sentences. `runs`: rows of `clock` with `discipline` and `seed`."""
    late = [run for run in runs if not run["kept_up"]]
    lost = [run for run in runs if run["lost_outside"]]
    found = []
    if late:
        worst = max(late, key=lambda run: float(run["late_packets"] / max(run["packets"], 1)))
        share = 100 * worst["late_packets"] / max(worst["packets"], 1)
        found.append(
            f"the machine did not keep up in {len(late)} of {len(runs)} runs between real hosts, which are flagged "
            f"({_runs(late)}); at worst {share:.1f} % of packets were forwarded more than 1 ms late"
        )
    if lost:
        count = sum(run["lost_outside"] for run in lost)
        found.append(f"{count} packets were lost by devices or sockets, outside Sluicegate's queues ({_runs(lost)})")
    return found


def _runs(runs: Sequence[Mapping[str, Any]]) -> str:
    """Which runs: disciplines, and the seeds of each."""
    seeds: dict[str, list[str]] = {}
    for run in runs:
        seeds.setdefault(run["discipline"], []).append(str(run["seed"]))
    return "; ".join(f"{label}, seed{'s' * (len(found) > 1)} {', '.join(found)}" for label, found in seeds.items())


Told = Callable[[str], object]
"""Called some four times a second with what the link is doing, as JSON; may raise to end the run."""


def run(
    scenario: _core.Scenario,
    hosts: RealHosts,
    told: Told | None = None,
    queue: custom_aqm.AqmFactory | None = None,
    expected: custom_aqm.Made | None = None,
    *,
    busy: bool = False,
    pcap: str | None = None,
) -> _core.RawRun:
    """Run a scenario between real hosts, which takes the time that the scenario says. What the core gives, with notes.

    Raises `ScenarioError`, OSError where this process lacks the rights or the kernel lacks an algorithm or a setting,
    and what `told` or a discipline written in Python raises.
    """
    if not hasattr(_core, "testbed"):
        raise _core.ScenarioError("testbed: real packets need Linux; this build of Sluicegate cannot handle them")
    maker = custom_aqm.Maker(queue, expected)
    options = {"algorithms": dict(hosts.algorithms), "sysctls": dict(hosts.sysctls), "busy": busy, "pcap": pcap}
    raw = maker.summary(_core.testbed(scenario, json.dumps(options), told, maker))
    summary = json.loads(raw["summary"])
    summary["live"] = {"warnings": list(hosts.notes)} | summary["live"]
    raw["summary"] = json.dumps(summary)
    return raw
