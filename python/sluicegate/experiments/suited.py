"""Buffers and targets, chosen for the link of each queue, for disciplines whose defaults do not fit every link."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from .. import _core, scenario
from ..declarations import declarations, listed
from ..design.footing import footing
from ..quantities import in_base_unit, toml_text
from ..traffic.groups import TALK_DSCP, Traffic, typical_rtt_ns
from ..traffic.paths import REVERSE, Place, places, queue_at
from ..traps import targets
from .disciplines import Choice

UNTUNED = ("codel", "fq_codel", "pie", "docsis_pie", "fq_pie", "cake", "dualpi2", "l4s_step", "fq_linux", "sfq")
"""Disciplines whose defaults are for any link; where a trap says that they do not fit this one, it gives a value."""

ONLY_DIFFSERV4 = TALK_DSCP.keys() - {44, 46}
"""DSCPs of calls that are best effort to CAKE with its default, diffserv3, which knows VOICE-ADMIT and EF alone of
these; with diffserv4 they have tins of their own."""

UNSEEN = re.compile(r"^# unknown: queue\.drop_tail\.limit = .*never seen full", re.MULTILINE)
"""What a learnt scenario says whose queue is no drop_tail, as far as is known, and stands in for another: its limit is
no wish, so that one is chosen for a drop_tail that is to be deployed."""

LEAST_BUFFER = 50
"""Packets: the least buffer that is chosen, where rate times round trip is less; ns-2's Drop Tail has it."""

PACKET = 1500
"""Bytes of the packets in which buffers are counted."""

Sets = Sequence[tuple[str, str]]


def fitted(
    text: str, name: str, sets: Sets, traffic: Traffic, choice: Choice
) -> tuple[Choice, dict[str, str], dict[str, str] | None]:
    """A discipline with what `suited` and `suited_reverse` give, and these."""
    down = suited(text, name, sets, traffic, choice)
    up = suited_reverse(text, name, sets, traffic, choice)
    more = (*choice.more, *reverse_queue(text, sets, choice, up))
    return replace(choice, values=(*down.items(), *choice.values), more=more), down, up


def completed(file: str, sets: Sets, shapers: Sets) -> tuple[list[tuple[str, str]], list[str]]:
    """These overrides of an access line's scenario with what `fitted` gives its discipline in these shapers, or in
    those that the scenario has, and what is said of that. Raises what `scenario.resolve` does."""
    resolved = scenario.resolve(file, sets)
    network, discipline = resolved["network"], resolved["queue"]["discipline"]
    if REVERSE not in network or not _declared(discipline):
        return list(sets), []
    given = scenario.subject(file, sets=list(sets))
    text, name = given.text(), given.name
    within = [*sets] if "shaper" in network or "shaper" in network[REVERSE] else [*sets, *shapers]
    traffic = Traffic(scenario.resolve(file, within))
    choice, down, up = fitted(text, name, within, traffic, Choice(discipline, discipline))
    said = [
        f"chosen for the {way}: {listed(values)}"
        for way, values in (("link" if up is None else "download", down), ("upload", up))
        if values
    ]
    return [*sets, *choice.sets], said


def suited(text: str, name: str, sets: Sets, traffic: Traffic, choice: Choice) -> dict[str, str]:
    """The parameters that give a discipline a buffer and a target for the first link under study, as far as neither the
    scenario nor `sets` nor `choice` states any. The target follows from the buffer, be that stated."""
    return _at(places(traffic.resolved)[0], text, name, sets, traffic, choice)


def suited_reverse(text: str, name: str, sets: Sets, traffic: Traffic, choice: Choice) -> dict[str, str] | None:
    """The same for the opposite direction of a two-way dumbbell, where it asks for others, or for the defaults alone;
    None where it does not, and where the scenario gives it a queue of its own."""
    network, known = traffic.resolved["network"], places(traffic.resolved)
    if REVERSE not in network or len(known) != 2 or _own(text, sets, choice.name):
        return None
    forward, reverse = (_at(place, text, name, sets, traffic, choice) for place in known)
    return reverse if reverse != forward else None


def reverse_queue(
    text: str, sets: Sets, choice: Choice, values: Mapping[str, str] | None
) -> tuple[tuple[str, str], ...]:
    """The overrides that make the queue of the opposite direction the same discipline with these values instead: what
    [queue] says of it is said again, for that table takes nothing over."""
    if values is None:
        return ()
    fields = {field["name"] for field in _declared(choice.name)["fields"]}
    table = tomllib.loads(text).get("queue", {})
    said = {key: toml_text(value) for key, value in table.items() if key in fields}
    said |= {key: toml_text(value) for key, value in table.get(choice.name, {}).items()}
    for key, value in sets:
        before, _, last = key.rpartition(".")
        if before in ("queue", f"queue.{choice.name}") and last in fields:
            said[last] = value
    said |= {**dict(choice.values), **values}
    own = f"network.{REVERSE}.queue"
    return ((f"{own}.discipline", choice.name), *((f"{own}.{key}", value) for key, value in said.items()))


def _own(text: str, sets: Sets, name: str) -> bool:
    """Whether the opposite direction has a queue of its own, or a buffer for the discipline of this name."""
    reverse = tomllib.loads(text).get("network", {}).get(REVERSE, {})
    table = f"network.{REVERSE}"
    stated = {
        *reverse,
        *(key.removeprefix(f"{table}.").partition(".")[0] for key, _ in sets if key.startswith(f"{table}.")),
    }
    return "queue" in stated or ("buffer" in stated and name == "drop_tail")


def _declared(name: str) -> dict[str, Any]:
    """The declaration of a discipline; empty for one of a person's own."""
    declared = {each["name"]: each for each in declarations()["disciplines"]}
    return dict(declared.get(name, {}))


def _at(place: Place, text: str, name: str, sets: Sets, traffic: Traffic, choice: Choice) -> dict[str, str]:
    about = _declared(choice.name)
    if not about or about["container"] or choice.given is not None:
        return {}
    fields = {field["name"] for field in about["fields"]}
    table = tomllib.loads(text).get("queue", {})
    stated = {key for key in table if not isinstance(table[key], Mapping)} | {*table.get(choice.name, {})}
    if choice.name == "drop_tail" and UNSEEN.search(text):
        stated.discard("limit")
    stated |= {key.rpartition(".")[2] for key, _ in sets if key.startswith(("queue.", f"queue.{choice.name}."))}
    stated |= {key for key, _ in choice.values}
    if stated & {"min_th", "max_th"}:
        stated |= {"min_th", "max_th"}
    there = traffic.at[place.name]
    if choice.name in UNTUNED:
        queue = queue_at(_core.Scenario(text, name, [*sets, *choice.sets]).resolved(), place.name)
        wanted = targets.advised(queue, place, there, targets.is_access(traffic.resolved))
        if choice.name == "cake" and any(group.flow.get("class") in ONLY_DIFFSERV4 for group in there):
            wanted["diffserv"] = "diffserv4"
        return {key: value for key, value in wanted.items() if key not in stated}
    limit, rtt_ns = buffer(place, typical_rtt_ns(there))
    if "limit" in stated:
        given = queue_at(_core.Scenario(text, name, [*sets, *choice.sets]).resolved(), place.name)["limit"]
        limit = given if isinstance(given, int) else max(1, in_base_unit(given) // PACKET)
    length = max(3, limit // 4)
    transfers = sum(group.count for group in there if group.flow["kind"] == "tcp" and group.lasting) or 1
    rtt = f"{round(rtt_ns + place.time_ns(PACKET, length))} ns"
    wanted = footing(rate=f"{place.rate_bps} bit/s", rtt=rtt, flows=transfers, queue=length, limit=limit)
    found = {}
    for key, value in wanted.items():
        of, point, bare = key.rpartition(".")
        if (not point or of == choice.name) and bare in fields - stated:
            found[bare] = value
    return found


def buffer(place: Place, rtt_ns: float) -> tuple[int, float]:
    """The buffer in packets that the product of a link's rate and a round trip asks for, and that round trip; 100 ms
    where no transfer has one."""
    rtt_ns = rtt_ns or 100e6
    return max(LEAST_BUFFER, math.ceil(rtt_ns / place.time_ns(PACKET))), rtt_ns
