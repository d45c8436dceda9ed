"""RFC 7928, "Characterization Guidelines for Active Queue Management (AQM)", by Kuhn, Natarajan, Khademi and Ros
(2016), as a suite: its scenarios, a file for each of its sections, what it asks for (`asked`), and what it leaves
open."""

from __future__ import annotations

from ..samples import PERIOD_S, K
from ..suite import FULL, QUICK, Suite
from . import section3, section4, section5, section6, section7, section8, section9
from .asked import ASKED, WEIGHTS

SECTIONS = {
    "3": "asymmetric links, other senders",
    "4": "ranges of values, packet sizes, ECN and scheduling",
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
        *section3.SCENARIOS, *section4.SCENARIOS, *section5.SCENARIOS, *section6.SCENARIOS, *section7.SCENARIOS,
        *section8.SCENARIOS, *section9.SCENARIOS,
    ),
    asks=ASKED,
    weights=WEIGHTS,
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
        ("Targets (4.3.1)", "a range of input configurations", "5, 10, 20 and 40 ms, as a time or as the length that "
         "takes it; 13 transfers", "what the discipline controls is then the same; one without a target, or with "
         "values that are given, is the same at each"),
        ("Small packets (4.4)", "half of the flows, such as 500 bytes", "three of six transfers; windows count "
         "packets, so that theirs carry a third", "as TCP does: the ratio is 3 where all lose equally"),
        ("Time 0, phases (8.2)", "when all transfers are in congestion avoidance", "the end of the warm-up, in which "
         "all send; whole cycles from there on, one at least. The tables say when the last transfer left slow start",
         "changes have to be planned before a run"),
        ("Varying congestion (8.2.5)", "phases", "19 transfers, of which 6, 13 and 19 send", "those that rest are in "
         "congestion avoidance at time 0, too; their windows restart as Linux's do"),
        ("Varying capacity (8.2.6)", "the capacity varies", "the rate of the link changes, and disciplines that "
         "compute with it are told", "as a shaper or a modem's driver would; a trace changes it without a word"),
        ("Requests and responses of DNS (9.2)", "", "datagrams of 80 and 200 bytes at random, 20 a second", "only "
         "their loss is of interest: nobody answers them or sends them again"),
        ("Goodput (2.5)", "bits for each unit of time, less what was lost or sent again", "IP bits delivered, less "
         "what a flow sent again beyond its drops", "rates of links are in IP bits; `goodput_bps` in the tables of a "
         "run is in bits of data"),
        ("Delay of a link (4.2)", "", "mean and 99th percentile of the wait in its queue", "end-to-end delays come "
         "first, and have all percentiles"),
        ("ECN", "with and without", "without, but for Sections 3.3 and 4.5", "most disciplines mark only when told to"),
        ("DECbit, UT/LT, Source Quench, drop preference, L4S step", "", "hosts that do not read their signals, give no "
         "preference and do not use ECN, but for Sections 3.3 and 4.5", "the hosts are the same for all; these are "
         "then Drop Tail"),
        ("Classes (4.6)", "", "a flow's class chooses its queue; the discipline in it reads it too: cake as "
         "DSCP 1, gred and fq_linux as their second class", "one class in a queue is alone there, and meets no other"),
        ("Two queues (10.2)", "no capacities; the same scheme, with other values, or two schemes", "5 Mbit/s, then 10; "
         "the same scheme at both, a target of 40 ms at the second, PIE there, or Drop Tail; 83 packets at each", "at "
         "equal rates the first queue would stay empty"),
        ("Asymmetric links (3.1)", "", "10 Mbit/s down, 2 Mbit/s up, six and four transfers; each way has the targets "
         "of its own rate, and a buffer of 83 packets; Drop Tail where the discipline is not", "uploads as slow as "
         "homes have them, ten times as long a queue"),
    ),
    settings=FULL,
    quick=QUICK,
    periods=f"every {PERIOD_S:g} s, {K} base round trips of 100 ms, for all disciplines (Sec. 2.7)",
)  # fmt: skip
