"""What an unresponsive flow gets under FQ-CoDel and SFB: 32 TCPs and a UDP flow of 2 Mbit/s on 1 Mbit/s."""

from __future__ import annotations

import polars as pl
import pytest

import sluicegate as sg


def share(queue: sg.FqCodel | sg.Sfb, seed: int = 1) -> float:
    """The UDP flow's part of the link in percent."""
    net = sg.dumbbell(rate="1 Mbit/s", delay="1 ms", queue=queue)
    tcp = sg.Tcp(32, "reno", profile="ns2", window=100, access_rate="10 Mbit/s")
    udp = sg.Udp(rate="2 Mbit/s", access_rate="10 Mbit/s")
    run = sg.simulate(net, [tcp, udp], duration="300 s", warmup="100 s", seed=seed, series=False)
    rates = dict(run.flows.group_by("kind").agg(pl.col("throughput_bps").sum()).iter_rows())
    return float(100 * rates["udp"] / sum(rates.values()))


# Measured with seeds 1 to 3: 4.66; 10.17; 5.75; 4.70; 10.27 %. Seeds differ by up to 0.3. By the bytes of its own queue
# alone CoDel would leave 3.4 % (3.2 with the smaller quantum): RFC 8289, Sec. 4.4, asks for all that share the link.
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, 4.66),
        ({"quantum": "1000 B"}, 10.17),
        ({"quantum": "2000 B"}, 5.75),
        ({"law": "linux"}, 4.70),
        ({"law": "linux", "quantum": "1000 B"}, 10.27),
    ],
)
def test_the_quantum_matters_as_codel_sees_all_queues(given: dict[str, str], expected: float) -> None:
    assert share(sg.FqCodel(**given)) == pytest.approx(expected, rel=0.08)


def test_the_kernels_tokens_give_what_the_bins_let_through() -> None:
    """What passes depends on the bins, and so on the seed: in eight 3.5 to 7.1 %; with bucket 8.0 % in all."""
    shares = [share(sg.Sfb(), seed) for seed in (4, 5)]
    assert shares == [share(sg.Sfb(tokens="linux"), seed) for seed in (4, 5)]
    assert shares[0] > 1.5 * shares[1]
    assert share(sg.Sfb(tokens="bucket")) == pytest.approx(8.0, abs=0.1)
