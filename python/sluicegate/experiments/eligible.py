"""Which disciplines a person's constraints leave: the system, what may be remembered of flows, a list of names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from .. import _core
from ..declarations import declarations
from ..deploy import dummynet, linux, linux_bpf, openwrt
from .disciplines import Choice, Listed, choices
from .ranking import MEMORY

State = Literal["none", "small", "any"]
System = Literal["linux", "openwrt", "linux-bpf", "freebsd"]
SYSTEMS = {"linux": linux, "openwrt": openwrt, "linux-bpf": linux_bpf, "freebsd": dummynet}
NAMED = {"linux": "Linux", "openwrt": "OpenWrt with the package sqm-scripts", "linux-bpf": "Linux, with BPF queues",
         "freebsd": "FreeBSD"}  # fmt: skip
TC = ("linux", "openwrt")
"""Systems on which commands of `tc` deploy both directions of an access line."""

STATES: dict[str, tuple[str, ...]] = {"none": MEMORY[:1], "small": MEMORY[:3], "any": MEMORY}
"""What may be remembered of flows: nothing; a bounded amount, however many flows there are; anything."""

HELP = {
    "decbit": "hosts with DECbit's window",
    "ut_lt": "hosts with UT/LT's window",
    "source_quench": "hosts that react to source quenches",
    "rio": "packets marked in or out where they enter the network",
    "drop_preference": "packets marked with their preference",
    "gred": "virtual queues configured for classes of traffic",
}
"""Disciplines that do nothing better by themselves: what they need of others."""


def eligible(
    resolved: Mapping[str, Any], system: System | None, state: State, among: Listed | None
) -> tuple[list[Choice], dict[str, str]]:
    """The disciplines that a person's constraints leave, and the others with the reason. Those with classes of traffic
    fit only where the scenario describes its classes. Raises `ScenarioError` when none is left."""
    declared = {each["name"]: each for each in declarations()["disciplines"]}
    module = SYSTEMS.get(system or "")
    kept, left_out = [], {}
    for choice in choices(among if among is not None else list(declared)):
        about = declared.get(choice.name)
        described = resolved["queue"]["discipline"] == choice.name
        if about is not None and about["container"] and not described:
            left_out[choice.label] = "holds classes of traffic, which the scenario does not describe"
        elif among is None and choice.name in HELP and not described:
            left_out[choice.label] = f"needs {HELP[choice.name]}"
        elif about is None and state != "any":
            left_out[choice.label] = "does not say what it remembers"
        elif about is not None and about["memory"] not in STATES[state]:
            left_out[choice.label] = f"remembers {about['memory']}"
        elif module is not None and about is None:
            left_out[choice.label] = "is your own; no command deploys it"
        elif module is not None and not module.deployable(choice.name):
            left_out[choice.label] = f"is not in {NAMED[system or 'linux']}"
        else:
            kept.append(choice)
    if not kept:
        why = "; ".join(f"{label} {reason}" for label, reason in left_out.items())
        raise _core.ScenarioError(f"no discipline is left: {why}")
    return kept, left_out
