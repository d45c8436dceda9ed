"""aioquic's QUIC as ends of a flow: the example of the manual."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import sluicegate as sg

pytest.importorskip("aioquic", reason="aioquic is not installed: make setup")
EXAMPLES = Path(__file__).parents[1] / "docs" / "examples"


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The example, as a module."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    import aioquic_ends

    yield aioquic_ends
    del sys.modules["aioquic_ends"]


def run(ends: Any, queue: object, control: str = "cubic", seed: int = 1) -> tuple[sg.Run, int]:
    """Twenty seconds beside one of Linux's CUBIC, and the bytes that have arrived."""
    made = []

    def download() -> Any:
        made.append(ends.download(size=30_000_000, control=control))
        return made[-1]

    net = sg.dumbbell(rate="8 Mbit/s", delay="20 ms", queue=queue)
    flows = [sg.Endpoints(ends=download, name="quic", spread="0 s"), sg.Tcp(name="tcp", spread="0 s")]
    done = sg.simulate(net, flows, duration="20 s", warmup="5 s", seed=seed, packets=60_000)
    return done, made[-1][1].delivered


@pytest.mark.full
def test_a_download_shares_with_cubic(ends: Any) -> None:
    for queue in (sg.Cake(), sg.Codel()):
        done, delivered = run(ends, queue)
        quic, tcp = done.groups["throughput_bps"].to_list()
        # CAKE serves the two in turn, whatever they send. Without it two senders of one law are within 3 to 1 of each
        # other: in 15 s each has a few cuts, and one more or less is a third.
        least = 0.4 if isinstance(queue, sg.Cake) else 0.25
        assert least < quic / (quic + tcp) < 1 - least, queue.name
        assert delivered > 0.9 * quic * 15 / 8 * 1444 / 1500
        assert done.links["utilisation"].item() > 0.9
        assert done.groups.filter(name="quic")["drops_packets"].item() > 0


def test_the_same_seed_gives_the_same_packets(ends: Any) -> None:
    """aioquic draws its keys from the system: no length, and so no time, depends on them."""
    [first, again] = (run(ends, sg.Codel(), "reno")[0].packets for _ in range(2))
    assert first.equals(again)
    assert first.filter(name="quic").height > 5000
