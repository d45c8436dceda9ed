"""RFC 7928, "Characterization Guidelines for Active Queue Management (AQM)", by Kuhn, Natarajan, Khademi and Ros
(2016), as a suite: its scenarios, a file for each of its sections, and what it lists, leaves open and asks for."""

from __future__ import annotations

from ..suite import FULL, QUICK, Suite
from . import section4, section5, section6, section7, section8, section9

SECTIONS = {
    "4": "packet sizes, ECN and scheduling",
    "5": "transport protocols",
    "6": "round-trip time fairness",
    "7": "burst absorption",
    "8": "stability",
    "9": "various traffic profiles",
    "10": "several queues",
}

SUITE = Suite(
    name="rfc7928",
    title="RFC 7928: characterization of queue disciplines",
    citation="N. Kuhn, P. Natarajan, N. Khademi, D. Ros: Characterization Guidelines for Active Queue Management "
    "(AQM), RFC 7928, 2016.",
    sections=SECTIONS,
    scenarios=(
        *section4.SCENARIOS, *section5.SCENARIOS, *section6.SCENARIOS, *section7.SCENARIOS, *section8.SCENARIOS,
        *section9.SCENARIOS,
    ),
    listed=(
        ("2", "flow completion and start-up time, packet loss and its intervals, loss synchronization, goodput, "
              "latency and jitter, ellipses of delay and goodput", "in every table; what is missing stands below"),
        ("3.2", "buffers, such as the product of bandwidth and delay", "that product, for all disciplines"),
        ("4.3", "comparison with Drop Tail and others; deployment", "beside drop_tail and fq_codel; table of needs"),
        ("4.4", "packet sizes", "packet-sizes"),
        ("4.5", "interaction with ECN", "ecn, to be set beside medium"),
        ("4.6", "interaction with scheduling: to be discussed", "scheduling: one queue for each class"),
        ("5.1.1", "one TCP-friendly sender, initial window 3", "friendly"),
        ("5.1.2", "different initial windows", "initial-windows"),
        ("5.2", "an aggressive sender, such as CUBIC", "aggressive; aggressive-friendly beside NewReno"),
        ("5.3", "an unresponsive sender above the capacity; one below it beside NewReno",
         "unresponsive; unresponsive-friendly"),
        ("5.4", "less than best effort: LEDBAT beside NewReno", "less-than-best-effort"),
        ("6.2", "two round trips, 100 ms and 5 to 560 ms", "round-trips: six of them"),
        ("7.2", "bursts: web, video, constant bit rate and bulk, cases I to IV", "bursts-1 to bursts-4"),
        ("8.2.2 to 8.2.4", "mild, medium and heavy congestion", "mild, medium, heavy"),
        ("8.2.5", "varying congestion, phases of 20 s", "varying-congestion"),
        ("8.2.6", "varying capacity, 100 and 10 Mbit/s, every 20 s and every 100 ms",
         "varying-capacity, varying-capacity-fast"),
        ("8.3", "sensitivity to parameters, stability analysis: to be discussed",
         "not run: evaluate the same discipline with several values"),
        ("9.1", "a mix of VoIP, web, constant bit rate, adaptive video and bulk", "traffic-mix"),
        ("9.2", "bidirectional traffic", "both-ways"),
        ("10", "several queues on a path", "two-queues"),
        ("11, 12", "implementation cost, control and auto-tuning: to be discussed", "the table of needs"),
    ),
    choices=(
        ("Hosts (3.3)", "TCP NewReno with SACK, CUBIC, LEDBAT", "Linux's: its Reno, its CUBIC, and LEDBAT in its "
         "stack, with RACK, tail-loss probes, proportional rate reduction and windows that tune themselves",
         "hosts of today"),
        ("Bottleneck", "any capacity", "10 Mbit/s, hosts at 100 Mbit/s, base round trip 100 ms", "losses of a level "
         "of congestion then follow from few flows"),
        ("Values of disciplines", "to be documented", "defaults; buffer 83 packets; targets that are lengths 20 "
         "packets, thresholds 13 and 26. Ten times as much under varying capacity (8.2.6), whose link is ten times as "
         "fast; as much for each of the two classes in 4.6", "a target in packets belongs to a link; what is said with "
         "the name wins"),
        ("What is off by default", "", "stays off: CAKE does not shape (`bandwidth`), fq (Linux) does not pace "
         "(`maxrate`)", "a shaper below the link's rate would be another link; evaluate cake:bandwidth=9500 kbit/s "
         "shows it"),
        ("CAKE and short transfers (5.1.2)", "", "as in Linux 6.18: a queue that has had no signal before gets its "
         "first with its second late packet, not an interval later", "so is the kernel's code, in which 1/√count of a "
         "new queue is 0; a window that starts with ten packets loses one. See CAKE's table of deviations"),
        ("Number of transfers", "p = 0.76 N²/S² for Drop Tail", "S = 166 packets, path and buffer: 6, 13 and 19",
         "the buffer is the product of bandwidth and delay"),
        ("Short transfers (5.1.2)", "one of 10 to 100 packets", "20 of 50 packets for each initial window, at random "
         "times", "one would say little"),
        ("Web pages (7.2)", "50 objects of 1 kB at least", "50 objects of 1 to 100 kB, Pareto, 3.6 kB on average; the "
         "next page after 1 s", "sizes of one length would hide bursts"),
        ("Video (7.2), VoIP", "left to the tester", "30 frames a second of 5 kB on average at 50 Mbit/s; 200 bytes "
         "every 20 ms", "common rates"),
        ("Varying capacity (8.2.6)", "the link's rate changes", "strict priority for a flow of its own that takes the "
         "rest of 101 Mbit/s", "what a discipline derives from the rate stays that of the whole rate, as it would be"),
        ("ECN", "with and without", "without, but for Section 4.5", "most disciplines mark only when told to"),
        ("DECbit, UT/LT, Source Quench, drop preference, L4S step", "", "hosts that do not read their signals, give no "
         "preference and do not use ECN, but for Section 4.5", "the hosts are the same for all; these are then Drop "
         "Tail"),
        ("Classes (4.6, 8.2.6)", "", "a flow's class chooses its queue; the discipline in it reads it too: cake as "
         "DSCP 1, gred and fq_linux as their second class", "one class in a queue is alone there, and meets no other"),
        ("Two queues (10)", "an example", "two links in a row", "the smallest network with two"),
    ),
    lacks=(
        ("L4S senders", "The RFC has none: marks are answered as in RFC 3168. So DualPI2's low-latency queue stays "
         "empty, and the L4S step marker marks nothing; its CoDel drops."),
        ("Start-up time (2.2)", "No table that the suite keeps has when a flow's first byte came. The completion of "
         "transfers of one packet stands for it, in Section 9.2."),
        ("Goodput in bits of data (2.5)", "Goodput here is in IP bits, as rates of links are: what was delivered, less "
         "what a flow sent again beyond its drops. What receivers handed on, without headers and repetitions, is in "
         "the tables of a run, as `goodput_bps`."),
        ("Median and 95th percentile of a link's delay (2.6)", "The table of links has mean and 99th percentile; flows "
         "have all."),
        ("Intervals between single losses (2.3)", "Losses are known by samples of a round trip, not one by one: "
         "intervals are between loss events."),
        ("Distribution functions (2.7)", "Median, 95th and 99th percentile stand for them. The table `delays` "
         "of a run has the delays of each group as a whole distribution."),
        ("Adaptive video (9.1)", "Chunks over TCP come later on a slow path, but stay as large."),
    ),
    settings=FULL,
    quick=QUICK,
)  # fmt: skip
