"""What `learn` tells of losses: those on the wire behind the queue are told from drops in it."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from test_learn import INSIDE

import sluicegate as sg
from sluicegate.learning.beyond import Lost, lost
from sluicegate.learning.learnt import learn


def test_losses_behind_the_queue_are_told_and_drops_in_it_are_none(tmp_path: Path) -> None:
    transfers = '[[flows]]\nkind = "tcp"\ncount = 4\nrtt = "40 ms"\n[run]\nduration = "30 s"\nwarmup = "0 s"\n'
    for keys, told in (("", None), ("loss = 0.002\n", "loss")):
        network = f'[network]\nrate = "20 Mbit/s"\ndelay = "5 ms"\n{keys}[queue]\ndiscipline = "codel"\n'
        places = {
            link: tmp_path / f"{at}.pcapng"
            for at, link in enumerate(("bottleneck/arrivals", "bottleneck", "bottleneck/back"))
        }
        run = sg.simulate(network + transfers, pcap=places, progress=False)
        told_of = learn(list(places.values()), inside=[INSIDE], out=tmp_path / "learnt.toml").forward.lost
        drops, real = run.links["drops_packets"].item(), run.links["lost_packets"].item()
        assert drops > 20
        if told is None:
            assert (told_of, real) == (None, 0)
            continue
        assert told_of is not None
        # One that was sent again and lost again may be taken for one, and so may two that look alike.
        assert told_of.lost == pytest.approx(real, rel=0.1)
        assert told_of.keys.keys() == {"loss"}
        assert told_of.keys["loss"] == pytest.approx(0.002, rel=0.4)  # of some 100 losses, whose square root is a tenth
        assert "\nloss = " in (tmp_path / "learnt.toml").read_text("utf-8")
    sg.check(tmp_path / "learnt.toml")


Sent = list[tuple[float, int]]


def lost_of(before: Sent, behind: Sent, acks: Sent) -> Lost | None:
    """What `lost` finds in one connection: seconds, with a sequence number or what is acknowledged."""
    types = {"time_ns": pl.Int64, "flow": pl.UInt32}

    def table(rows: Sent, **more: pl.Expr) -> pl.DataFrame:
        found = pl.DataFrame(rows, ["at", "number"], orient="row").sort("at")
        return found.select(time_ns=(pl.col("at") * 1e9).round(), flow=pl.lit(1), **more).cast(types)  # type: ignore[arg-type]

    data = {"seq": pl.col("number").cast(pl.UInt32), "payload_bytes": pl.lit(1000)}
    answers = table(acks, ack=pl.col("number").cast(pl.UInt32))
    return lost(table(before, **data), table(behind, **data), answers, {1: 40_000_000})


@pytest.mark.parametrize("missing", ["in the queue", "behind it"])
def test_what_was_received_is_no_loss_though_it_is_sent_again(missing: str) -> None:
    """Each second the first of four segments is lost, and a timeout sends all four again."""
    before, behind, acks = [], [], []
    for second in range(4):
        segments = [(second * 4 + each) * 1000 for each in range(4)]
        for at, sent in ((second, segments), (second + 0.5, segments)):
            before += [(at + 0.001 * place, seq) for place, seq in enumerate(sent)]
            behind += [(at + 0.01 + 0.001 * place, seq) for place, seq in enumerate(sent)
                       if missing != "in the queue" or at != second or place]  # fmt: skip
        acks += [(second + 0.051 + 0.001 * place, segments[0]) for place in range(3)]
        acks += [(second + 0.551 + 0.001 * place, segments[-1] + 1000) for place in range(4)]
    found = lost_of(before, behind, acks)
    assert (found is None) if missing == "in the queue" else (found is not None and found.lost == 4)


def test_the_last_segment_of_a_burst_is_lost_though_nothing_asks_for_it_later() -> None:
    """Six bursts of four segments, the last of which is lost; a timeout sends it again."""
    before, behind, acks = [], [], []
    for second in range(6):
        segments = [(second * 4 + each) * 1000 for each in range(4)]
        sent = [(second + 0.001 * place, seq) for place, seq in enumerate(segments)] + [(second + 0.5, segments[3])]
        before += sent
        behind += [(at + 0.01, seq) for at, seq in sent]
        acks += [(at + 0.05, seq + 1000) for at, seq in sent if (at, seq) != sent[3]]
    found = lost_of(before, behind, acks)
    assert found is not None
    assert found.lost == 6


def test_losses_in_bursts_are_told_as_such() -> None:
    apart = Lost(10, 50_000, 10, 10)
    assert apart.keys == {"loss": 0.0002}
    bursts = Lost(30, 50_000, 10, 60)
    assert bursts.keys == {"burst_start": 0.0002, "burst_end": 0.17, "burst_loss": 0.5}
