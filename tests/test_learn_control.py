"""What a sender had in flight, as a capture shows it: too little to tell its congestion control by."""

from __future__ import annotations

import polars as pl

from sluicegate.learning import control

RTT, MSS = 100_000_000, 1000


class Sender:
    """A sender that has `window` packets in flight in each round trip, until one is lost."""

    def __init__(self) -> None:
        self.time = self.next = 0
        self.sent: list[tuple[int, int]] = []
        self.acks: list[tuple[int, int]] = []

    def round(self, window: int) -> None:
        for number in range(window):
            time = self.time + number * RTT // window
            self.sent.append((time, self.next))
            self.next += MSS
            self.acks.append((time + RTT, self.next))
        self.time += RTT

    def lose(self, behind: int) -> None:
        """One with so many packets behind it is sent again."""
        lost = self.next - behind * MSS
        self.acks = [(time, min(ack, lost)) for time, ack in self.acks]
        self.sent.append((self.time + RTT // 2, lost))
        self.acks.append((self.time + RTT // 2 + RTT, self.next))
        self.time += RTT + RTT // 2

    def told(self) -> control.Control:
        same = {"flow": pl.lit(1), "flags": pl.lit(16), "window": pl.lit(10**9)}
        data = pl.DataFrame(self.sent, schema=["time_ns", "seq"], orient="row").sort("time_ns")
        acks = pl.DataFrame(self.acks, schema=["time_ns", "ack"], orient="row").sort("time_ns")
        return control._control(
            data.with_columns(payload_bytes=pl.lit(MSS), ecn=pl.lit(0), **same),
            acks.with_columns(payload_bytes=pl.lit(0), seq=pl.lit(0), **same), 0, RTT,
        )  # fmt: skip


def test_a_loss_in_a_small_window_and_one_at_the_end_tell_nothing() -> None:
    sender = Sender()
    for window in (2, 3, 4):
        sender.round(window)
    sender.lose(2)
    for window in range(4, 31):
        sender.round(window)
    sender.lose(20)
    assert sender.told().name is None
