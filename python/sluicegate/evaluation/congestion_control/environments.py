"""RFC 5033, guidelines (2) and (3): difficult environments, and a range of them."""

from __future__ import annotations

from ..._generated import Dumbbell, Shaper
from ...papers.disciplines.workloads import Workload
from ..suite import LINKS, Number
from .scenario import RTT, TESTED, ControlScenario, buffers, chunks, disciplines, flow, packets

GOT = (Number(TESTED, "goodput_bps"), Number(TESTED, "delay_p95_ns"))
QUEUES = ("drop_tail", "red", "codel", "fq_codel", "cake", "pie", "dualpi2")


def lossy(loss: float, **more: object) -> tuple[tuple[str, str], ...]:
    """Overrides: what the wire loses."""
    return (("network.loss", str(loss)), *((f"network.{key}", str(value)) for key, value in more.items()))


def of_rate(id_: str, rate: str, lasts: float, words: str, least: float = 0.1) -> ControlScenario:
    """One flow on a link of this rate, with buffers from a tenth of the bandwidth-delay product to ten of them. Its
    receiver's window holds all of that, more than the 16 MiB of Linux's default on fast links."""
    window = max(10_000, 12 * packets(rate))
    return ControlScenario(
        id_, "3", f"One flow at {rate}",
        f"One flow has a link of {rate} with a base round trip of {RTT}: a bandwidth-delay product of "
        f"{packets(rate)} packets. Buffers are {least} to 10 times this product. {words}",
        lambda settings: {TESTED: flow(window=window)}, (*GOT, Number(LINKS, "loss_ratio")),
        network=Dumbbell(rate=rate, delay="1 ms"), link=Workload("", rate, 1, packets(rate), "60 ms", 1),
        points=buffers(rate, [each for each in (0.1, 0.3, 1, 3, 10) if each >= least]), axis="Buffer",
        lasts=lasts, also=("filled_s",),
    )  # fmt: skip


def of_trace(name: str, network: Dumbbell, words: str) -> ControlScenario:
    """One flow on a link whose rate follows a bundled trace."""
    return ControlScenario(
        name, "2", f"Variable rate: {name}",
        f"One flow has a link whose rate follows the bundled trace {name}, behind a buffer of 500 packets. {words}",
        lambda settings: {TESTED: flow(rtt=None)}, GOT,
        network=network, queue='[queue]\ndiscipline = "drop_tail"\nlimit = 500\n',
        link=Workload("", "10 Mbit/s", 1, 500, "60 ms", 1),
    )  # fmt: skip


SCENARIOS = (
    ControlScenario(
        "random-loss", "2", "Random loss",
        "One flow has the link, whose wire loses packets at random. A congestion control that takes each loss for "
        "congestion gets 1.2/(RTT √p) packets per second at most (RFC 5166, Sec. 2.1).",
        lambda settings: {TESTED: flow()}, GOT[:1],
        points={f"{100 * loss:g} %": lossy(loss) for loss in (0.0001, 0.001, 0.01, 0.03)}, axis="Loss",
        also=("sent_twice_ratio",),
    ),
    ControlScenario(
        "burst-loss", "2", "Bursts of loss",
        "One flow has the link, whose wire loses packets in bursts (Gilbert): a tenth of a percent of all packets, in "
        "bursts of 5, 20 and 100 packets on average.",
        lambda settings: {TESTED: flow()}, GOT[:1],
        points={
            f"{length} packets": lossy(0, burst_start=f"{0.001 / length:.8f}", burst_end=1 / length)
            for length in (5, 20, 100)
        }, axis="Burst", also=("sent_twice_ratio",),
    ),
    ControlScenario(
        "reordering", "2", "Reordering",
        "One flow has the link, behind which packets are delayed by up to 1, 5 and 20 ms at random and overtake one "
        "another. Nothing is lost but in the queue.",
        lambda settings: {TESTED: flow()}, (*GOT[:1], Number(TESTED, "sent_twice_ratio")),
        points={
            jitter: (("network.jitter", jitter), ("network.reordering", "true")) for jitter in ("1 ms", "5 ms", "20 ms")
        }, axis="Up to",
    ),
    ControlScenario(
        "policer", "2", "Policers",
        "One flow meets a policer of 10 Mbit/s on a path of 100 Mbit/s: a token bucket that drops packets for which it "
        "has no tokens, with room for one waiting packet. The bucket holds what the policer passes in 5, 50 and "
        "200 ms.",
        lambda settings: {TESTED: flow()}, (*GOT[:1], Number(TESTED, "loss_ratio")),
        network=Dumbbell(rate="100 Mbit/s", delay="1 ms", access_rate="100 Mbit/s", shaper=Shaper(rate="10 Mbit/s")),
        queue='[queue]\ndiscipline = "drop_tail"\nlimit = 1\n', link=Workload("", "10 Mbit/s", 1, 1, "40 ms", 1),
        points={
            f"{ms} ms": (("network.shaper.burst", f"{ms * 1250} B"),) for ms in (5, 50, 200)
        }, axis="Bucket",
    ),
    of_trace("lte", Dumbbell(trace="lte", delay="25 ms"),
             "Its base round trip is 50 ms; the rate falls to nothing for tenths of a second and rises to four times "
             "its mean."),
    of_trace("wifi", Dumbbell(trace="wifi", delay="5 ms", jitter="3 ms"),
             "Its base round trip is 10 ms, with up to 3 ms of jitter: an access point sends aggregates in turns with "
             "others."),
    of_rate("rate-1m", "1 Mbit/s", 1, "0.3 bandwidth-delay products are one packet, the smallest buffer.", least=0.3),
    of_rate("rate-10m", "10 Mbit/s", 1, "A home line."),
    of_rate("rate-100m", "100 Mbit/s", 1, "A fast home line."),
    of_rate("rate-1g", "1 Gbit/s", 0.5, "Fibre. Runs are half as long as those of other scenarios."),
    of_rate("rate-10g", "10 Gbit/s", 0.25, "A data centre's rate at a country's distance. Runs are a quarter as "
            "long as those of other scenarios: with Reno they show how the link is filled, and little more."),
    ControlScenario(
        "round-trip", "3", "Round trips",
        "One flow has the link at base round trips from 5 to 500 ms, with the buffer of one bandwidth-delay product "
        "at 40 ms throughout: deep for short round trips, shallow for long ones.",
        lambda settings: {TESTED: flow()}, GOT,
        points={trip: (("flows.0.rtt", trip),) for trip in ("5 ms", "20 ms", "80 ms", "200 ms", "500 ms")},
        axis="Round trip", also=("filled_s",),
    ),
    ControlScenario(
        "many", "3", "Multiplexing",
        "2, 10 and 50 flows under the same control share the link.",
        lambda settings: {TESTED: flow(50)}, (Number(LINKS, "jain"), Number(LINKS, "loss_ratio"), *GOT[1:]),
        points={f"{count} flows": (("flows.0.count", str(count)),) for count in (2, 10, 50)}, axis="Flows",
    ),
    ControlScenario(
        "reverse-traffic", "3", "Traffic on the way back",
        "One flow has the link; its acknowledgements share a way back of the same rate and buffer with two CUBIC "
        "flows, so that they come late and in clumps.",
        lambda settings: {TESTED: flow(), "CUBIC, reverse": flow(2, direction="reverse")}, GOT,
    ),
    ControlScenario(
        "queues", "3", "Queue disciplines",
        "Two flows under the same control share the link, under each of seven disciplines with a buffer of one "
        "bandwidth-delay product and default parameters; only RED's thresholds are set for the link. By default, only "
        "packets of DCTCP and Prague can be marked.",
        lambda settings: {TESTED: flow(2)}, GOT,
        points=disciplines(*QUEUES), axis="Discipline", apart=True, also=("jain",),
    ),
    ControlScenario(
        "ecn", "3", "Explicit congestion notification",
        "Two flows under the same control, whose ends use ECN, share the link under disciplines that mark.",
        lambda settings: {TESTED: flow(2, ecn=True)}, GOT,
        points=disciplines("red", sets=(("queue.red.action", "mark"),))
        | disciplines("codel", sets=(("queue.codel.ecn", "true"),))
        | disciplines("fq_codel", "cake", "dualpi2"),
        axis="Discipline", apart=True, also=("marked_ratio", "jain"),
    ),
    ControlScenario(
        "application-limited", "3", "An application's pauses",
        "One flow fetches 1 MB, waits 2 s, and fetches the next, beside one CUBIC flow. After each pause the control "
        "starts again from what it remembers.",
        lambda settings: {"CUBIC": flow(), TESTED: chunks()}, (Number(TESTED, "response_mean_ns"),),
        drawn=("CUBIC",),
    ),
)  # fmt: skip
