"""Disciplines in a file of their own: a process that runs one loads neither pytest nor Matplotlib."""

from __future__ import annotations

import sluicegate as sg


class Fifo(sg.Aqm):
    """First in, first out."""

    def __init__(self, room: int = 20) -> None:
        self.queue = sg.PacketQueue()
        self.room = room

    def enqueue(self, packet: sg.Packet, ctx: sg.Ctx) -> None:
        if len(self.queue) >= self.room:
            ctx.drop(packet, "tail")
        else:
            self.queue.append(packet)

    def dequeue(self, ctx: sg.Ctx) -> sg.Packet | None:
        return self.queue.pop()


class Tail(sg.Aqm):
    """A class of one's own, given as it is."""

    def __init__(self, *, limit: int = 50) -> None:
        self.limit, self.queue = limit, sg.PacketQueue()

    def enqueue(self, packet: sg.Packet, ctx: sg.Ctx) -> None:
        if len(self.queue) >= self.limit:
            ctx.drop(packet, "tail")
        else:
            self.queue.append(packet)

    def dequeue(self, ctx: sg.Ctx) -> sg.Packet | None:
        return self.queue.pop()
