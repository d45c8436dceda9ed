"""The traces of link rates that come with the package: made here, by a recipe, from no measurement.

    python3 tools/traces.py      # writes crates/lab/traces anew

`lte`: downlink of one phone. Every 100 ms a rate: log-normal about 12 Mbit/s with a standard deviation of a factor of
1.8, as an autoregressive process that forgets in two seconds (fading as one walks), shared with others (a factor of 1,
1/2 or 1/3 for some seconds), and a handover each 20 s or so, which stops it for 100 to 300 ms. Sixty seconds.

`wifi`: an access point whose stations send by turns. It sends an aggregate of one to four milliseconds at 120 Mbit/s,
then waits for half a millisecond and for others to send, none to six of them. Ten seconds.
"""

from __future__ import annotations

import math
import random
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "crates/lab/traces"


def lte(rng: random.Random) -> list[tuple[float, float]]:
    """Seconds, and bits per second."""
    step, memory, spread = 0.1, 2.0, math.log(1.8)
    keep = math.exp(-step / memory)
    level, part, until, stop = 0.0, 1.0, 0.0, rng.expovariate(1 / 20)
    rows = []
    for tick in range(600):
        time = tick * step
        level = keep * level + math.sqrt(1 - keep * keep) * rng.gauss(0, spread)
        if time >= until:
            part, until = rng.choice((1.0, 1.0, 0.5, 1 / 3)), time + rng.expovariate(1 / 4)
        rate = round(12e6 * math.exp(level) * part, -4)
        if time >= stop:
            rate = 0.0
            if rng.random() < 0.5:
                stop = time + rng.expovariate(1 / 20)
        rows.append((time, rate))
    return rows


def wifi(rng: random.Random) -> list[tuple[float, float]]:
    """Seconds, and bits per second."""
    time, rows = 0, []  # microseconds
    while time < 10_000_000:
        rows.append((time / 1e6, 120e6))
        time += rng.randrange(1000, 4000, 50)
        rows.append((time / 1e6, 0.0))
        time += 500 + sum(rng.randrange(500, 2500, 50) for _ in range(rng.choice((0, 0, 1, 1, 2, 3, 6))))
    return [row for row in rows if row[0] < 10]


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, make in (("lte", lte), ("wifi", wifi)):
        rows = make(random.Random(name))
        lines = [f"{time:.5f}".rstrip("0").rstrip(".") + f",{rate:.0f}" for time, rate in rows]
        text = f"# made by tools/traces.py, which has the recipe\ntime_s,rate_bps\n{chr(10).join(lines)}\n"
        (FOLDER / f"{name}.csv").write_text(text, "ascii")
        print(f"{name}: {len(rows)} rates")


if __name__ == "__main__":
    main()
