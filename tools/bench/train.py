"""Run what releases are optimised for, in the build that watches itself: profile-guided optimisation by `make wheel`.

The scenarios whose cost the gate watches, and a short dumbbell under each discipline.
"""

from __future__ import annotations

import dumbbell
import gate

from sluicegate import _core
from sluicegate.declarations import declarations


def run(text: str, sets: list[tuple[str, str]]) -> None:
    _core.run(_core.Scenario(text, "scenario", sets))


def main() -> None:
    for text, sets, (seconds, _) in gate.PACKETS.values():
        run(text, [*sets.items(), ("run.duration", f"{seconds} s"), ("run.warmup", "0 s")])
    plain = dumbbell.scenario(20, queue="drop_tail", profile="linux", algorithm="cubic", seconds=1)
    for each in declarations()["disciplines"]:
        run(plain, [("queue.discipline", each["name"])])


if __name__ == "__main__":
    main()
