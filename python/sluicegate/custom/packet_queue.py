"""A queue of packets for disciplines in Python. It draws packets at random as CHOKe's queue in Rust does."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .._core import Ctx, Packet


class PacketQueue:
    """A first-in-first-out queue of packets from which any can be taken.

    It draws like the queue of CHOKe in Rust, with the same random numbers: a removed packet leaves a hole; a draw that
    hits a hole is repeated; holes are skipped at the head, and compacted when there are 16 more of them than packets.
    `len` is the number of packets.

    >>> class RandomOut(sg.Aqm):  # Makes room by dropping a packet that is drawn from the queue
    ...     def __init__(self):
    ...         self.queue = sg.PacketQueue()
    ...
    ...     def enqueue(self, packet, ctx):
    ...         if len(self.queue) == 20:
    ...             ctx.drop(self.queue.remove(self.queue.draw(ctx)), "match")
    ...         self.queue.append(packet)
    ...
    ...     def dequeue(self, ctx):
    ...         return self.queue.pop()
    >>> sg.run("unresponsive", queue=RandomOut, duration="2 s", warmup="0 s").links["drops_match"].item() > 0
    True
    """

    def __init__(self) -> None:
        self._slots: deque[Packet | None] = deque()
        self._packets = 0

    def __len__(self) -> int:
        return self._packets

    def append(self, packet: Packet) -> None:
        """Put `packet` at the tail."""
        self._slots.append(packet)
        self._packets += 1

    def pop(self) -> Packet | None:
        """Take the packet at the head; None when there is none."""
        if not self._slots:
            return None
        packet = self._slots.popleft()
        self._packets -= 1
        self._compact()
        return packet

    def draw(self, ctx: Ctx) -> Packet | None:
        """A packet drawn uniformly, which stays where it is; None when there is none."""
        while self._slots:
            if (packet := self._slots[ctx.below(len(self._slots))]) is not None:
                return packet
        return None

    def remove(self, packet: Packet) -> Packet:
        """Take `packet` out of the queue, wherever it is. Raises ValueError when it is not in the queue."""
        self._slots[self._slots.index(packet)] = None
        self._packets -= 1
        self._compact()
        return packet

    def _compact(self) -> None:
        """Keep a packet at the head, so that an empty queue has no slots; remove the holes when they are too many."""
        while self._slots and self._slots[0] is None:
            self._slots.popleft()
        if len(self._slots) > 2 * self._packets + 16:
            self._slots = deque(packet for packet in self._slots if packet is not None)
