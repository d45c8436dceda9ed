"""Run what releases are optimised for, in the build that watches itself: profile-guided optimisation by `make wheel`.

The scenarios whose cost the gate watches, and a short dumbbell under each discipline.
"""

from __future__ import annotations

import json

import dumbbell
import gate

from sluicegate import _core


def main() -> None:
    for text, sets, (seconds, _) in gate.PACKETS.values():
        _core.run(text, "scenario", [*sets.items(), ("run.duration", f"{seconds} s"), ("run.warmup", "0 s")], None)
    plain = dumbbell.scenario(20, queue="drop_tail", profile="linux", algorithm="cubic", seconds=1)
    for each in json.loads(_core.declarations())["disciplines"]:
        _core.run(plain, "scenario", [("queue.discipline", each["name"])], None)


if __name__ == "__main__":
    main()
