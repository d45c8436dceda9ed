"""The dumbbell of the measurements, of any size; dumbbell.tcl is the same for ns-2.

Transfers of a megabit per second each over a round trip of 42 ms. Everything that the two simulators could set
differently is set here and there.
"""

from __future__ import annotations

QUEUES = {
    # One bandwidth-delay product.
    "drop_tail": "limit = {tail}",
    "red": """\
limit = {limit}
min_th = {min_th}
max_th = {max_th}

[queue.red]
w_q = 0.002
max_p = 0.1
law = "ns2"
s = "{packet_ns} ns\"""",
}

SCENARIO = """\
[network]
rate = "{flows} Mbit/s"
{network}

[queue]
discipline = "{queue}"
{settings}

[[flows]]
kind = "tcp"
count = {flows}
profile = "{profile}"
algorithm = "{algorithm}"
window = 100
packet_size = "1000 B"
spread = "1 s"
{hosts}

[run]
duration = "{seconds} s"
warmup = "{warmup} s"
seed = {seed}
series = false
"""


def scenario(
    flows: int = 100,
    *,
    queue: str = "red",
    access: bool = True,
    profile: str = "ns2",
    algorithm: str = "newreno",
    seconds: float = 100,
    warmup: float = 0,
    seed: int = 1,
) -> str:
    """The text of the scenario. `access`: whether each host has a line of its own, of 1 Gbit/s, or all are routers."""
    thresholds = {"limit": 3 * flows, "min_th": 3 * flows // 10, "max_th": 6 * flows // 10}
    settings = QUEUES[queue].format(tail=int(5.25 * flows), packet_ns=8_000_000 // flows, **thresholds)
    network = 'delay = "20 ms"\naccess_rate = "1 Gbit/s"' if access else 'delay = "21 ms"'
    return SCENARIO.format(
        flows=flows,
        network=network,
        queue=queue,
        settings=settings,
        profile=profile,
        algorithm=algorithm,
        hosts='access_delay = "1 ms"' if access else "",
        seconds=f"{seconds:g}",
        warmup=f"{warmup:g}",
        seed=seed,
    )
