"""The paper's whole run: DCN 2004's web users at 105 % of the link for two hours, in one process.

The paper runs 120 minutes of 100 Mbit/s in both directions; here that is to take less than 6 minutes on one core, and
less than 1 GB.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

SCENARIO = Path(__file__).parents[2] / "python/sluicegate/scenarios/dcn2004.toml"
#: Simulated minutes of the paper's runs.
WHOLE = 120.0
#: Users whose responses cross the link, and those on its other side: 105 % of it, as `reproduce dcn2004` finds them.
USERS = (10_420, 10_155)
#: What the whole run may take: CPU seconds, bytes.
ALLOWED_S, ALLOWED_BYTES = 360, 10**9


class Cost(Protocol):
    """What a process cost, and what it printed."""

    seconds: float
    kilobytes: int
    output: str


def settings(minutes: float) -> list[str]:
    """What `minutes` of the paper's run set in the scenario."""
    return [f"run.duration={minutes * 60:g} s", *(f"flows.{at}.count={users}" for at, users in enumerate(USERS))]


def measure(
    run: Callable[..., Cost], program: Path, minutes: float = WHOLE
) -> tuple[list[dict[str, object]], dict[str, object]]:
    """A table, and what bench.json keeps, of `minutes` that `program` simulates; `run` runs a process."""
    cost = run(program, SCENARIO, *settings(minutes))
    found = json.loads(cost.output)
    speed = minutes * 60 / cost.seconds
    peak = cost.kilobytes * 1024
    result: dict[str, object] = {
        "simulated_minutes": minutes,
        "cpu_s": cost.seconds,
        "simulated_minutes_per_cpu_minute": speed,
        "peak_memory_bytes": peak,
        "events": found["events"],
        "packets": found["sent"],
    }
    whole = "" if minutes == WHOLE else f" Here {minutes:g} minutes of them."
    note = (
        f"DCN 2004's whole run: {USERS[0]} web users of a link of 100 Mbit/s and {USERS[1]} of the way back, "
        f"105 % of it, under DCN, {WHOLE:g} simulated minutes in one process: at most {ALLOWED_S} CPU s and "
        f"{ALLOWED_BYTES / 2**20:.0f} MiB are wanted.{whole} Packets are those that left a link."
    )
    columns = [
        "simulated minutes",
        "CPU s",
        "simulated minutes per CPU minute",
        "packets",
        "events per CPU s",
        "peak memory, MiB",
    ]
    row = [minutes, cost.seconds, speed, found["sent"], round(found["events"] / cost.seconds), peak / 2**20]
    shown = [value if isinstance(value, int) else round(value, 1) for value in row]
    return [{"title": "A whole run of the paper's", "note": note, "columns": columns, "rows": [shown]}], result
