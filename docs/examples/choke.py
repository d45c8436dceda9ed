"""CHOKe (Pan & Prabhakar 1999, Sec. 3) with one candidate; docs/own-discipline.md explains it."""

import sluicegate as sg


class Choke(sg.Aqm):
    def __init__(self, *, rate_bps, min_th=30, max_th=60, limit=300, w_q=0.002, max_p=0.02):
        self.min_th, self.max_th, self.limit, self.w_q, self.max_p = min_th, max_th, limit, w_q, max_p
        self.queue, self.avg, self.count, self.idle_ns = sg.PacketQueue(), 0, 0, 0
        self.s_ns = 500 * 8 * 10**9 // rate_bps  # 500 bytes at the link's rate

    def enqueue(self, packet, ctx):
        m = 1 if self.idle_ns is None else (ctx.now_ns - self.idle_ns) / self.s_ns  # packets that could have been sent
        self.avg, self.idle_ns = ctx.pow(1 - self.w_q, m) * self.avg + self.w_q * ctx.packets, None
        between = self.min_th <= self.avg < self.max_th
        victim = self.queue.draw(ctx) if between else None
        if victim is not None and victim.flow == packet.flow:
            ctx.drop(self.queue.remove(victim), "match")
            ctx.drop(packet, "match")
            return
        p_b = self.max_p * (self.avg - self.min_th) / (self.max_th - self.min_th)
        p_a = p_b / (1 - self.count * p_b) if self.count * p_b < 1 else 1
        early = between and ctx.random() < p_a
        self.count = self.count + 1 if between and not early else 0  # packets since the last early drop
        if early:
            ctx.drop(packet, "early")
        elif self.avg >= self.max_th:
            ctx.drop(packet, "forced")
        elif ctx.packets >= self.limit:
            ctx.drop(packet, "tail")
        else:
            self.queue.append(packet)

    def dequeue(self, ctx):
        packet = self.queue.pop()
        if packet is None:
            self.idle_ns = ctx.now_ns
        return packet

    def average(self):
        return self.avg
