"""Flows that are capable of ECN where nothing marks, or whose algorithm ignores marks."""

from __future__ import annotations

from collections.abc import Iterator

from ..traffic.groups import Traffic

DEAF = "bbr"
"""The algorithm that ignores marks: BBR's first version, as in Linux."""


def unmarked(traffic: Traffic) -> Iterator[str]:
    """Flows with ECN at a discipline that could mark, but drops, as it is set."""
    queue = traffic.queue
    key, mark = ("action", "mark") if "action" in queue else ("ecn", "true")
    if queue.get(key) not in ("drop", False) or "ce_threshold" in queue:
        return
    for place, there, _ in traffic.meetings():
        if capable := [group.label for group in there if group.flow.get("ecn") is True]:
            has = "has" if len(capable) == 1 else "have"
            yield (
                f"queue.{key} = {str(queue[key]).lower()}: {', '.join(capable)} {has} ecn = true, but "
                f"{queue['discipline']} at {place.name} drops; set {key} = {mark}"
            )
            return


def ignored(traffic: Traffic) -> Iterator[str]:
    """BBR's first version with ECN: it is marked where others are dropped from, and goes on as before."""
    for group in traffic.groups:
        if group.flow.get("algorithm") == DEAF and group.flow.get("ecn") is True:
            yield (
                f"{group.label}: algorithm = {DEAF} ignores marks, and with ecn = true gets them in place of drops; "
                "set ecn = false, or another algorithm"
            )
