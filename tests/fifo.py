"""A discipline in a file of its own: a process that runs it loads neither pytest nor Matplotlib."""

from __future__ import annotations

import sluicegate as sg


class Fifo(sg.Aqm):
    """First in, first out. With `fault` it fails at packet 9."""

    def __init__(self, *, limit: int = 20, fault: bool = False) -> None:
        self.queue = sg.PacketQueue()
        self.limit, self.fault = limit, fault

    def enqueue(self, packet: sg.Packet, ctx: sg.Ctx) -> None:
        if self.fault and packet.number == 9:
            raise LookupError("mine")
        if len(self.queue) < self.limit:
            self.queue.append(packet)
        else:
            ctx.drop(packet, "tail")

    def dequeue(self, ctx: sg.Ctx) -> sg.Packet | None:
        return self.queue.pop()
