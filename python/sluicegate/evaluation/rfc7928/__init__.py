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
        ("Hosts (3.3)", "TCP NewReno with SACK, CUBIC, LEDBAT", "Linux's Reno, CUBIC and LEDBAT, with RACK, tail-loss "
         "probes, proportional rate reduction and automatic window tuning", "hosts of today"),
        ("Bottleneck", "any capacity", "10 Mbit/s, hosts at 100 Mbit/s, base round trip 100 ms", "few flows then "
         "suffice for each level of congestion"),
        ("Values of disciplines", "to be documented", "defaults, except: buffers of 83 packets, targets of 20 packets "
         "(if they are lengths), thresholds of 13 and 26 packets. Under varying capacity (8.2.6) these are ten times "
         "as large, as the link is ten times as fast. Each of the two classes in 4.6 has all of them", "a target in "
         "packets belongs to a link; parameters given with the name take precedence"),
        ("What is off by default", "", "stays off: CAKE does not shape (`bandwidth`), fq (Linux) does not pace "
         "(`maxrate`)", "a shaper below the link's rate would be another link; "
         '`evaluate "cake:bandwidth=9500 kbit/s"` shows it'),
        ("CAKE and short transfers (5.1.2)", "", "as in Linux 6.18: a new queue gets its first signal at its second "
         "late packet, not an interval later", "the kernel's 1/√count is 0 for a new queue, so a transfer with an "
         "initial window of ten loses a packet. See CAKE's table of deviations"),
        ("Number of transfers", "p = 0.76 N²/S² for Drop Tail", "S, the packets on path and in the buffer, is 166; so "
         "N is 6, 13 and 19", "the buffer is the product of bandwidth and delay"),
        ("Short transfers (5.1.2)", "one of 10 to 100 packets", "20 of 50 packets for each initial window, at random "
         "times", "a single transfer would say little"),
        ("Web pages (7.2)", "50 objects of 1 kB at least", "50 objects of 1 to 100 kB, Pareto, 3.6 kB on average; the "
         "next page after 1 s", "objects of equal size would hide bursts"),
        ("Video (7.2), VoIP", "left to the tester", "30 frames a second of 5 kB on average, each a burst at "
         "50 Mbit/s; VoIP: 200 bytes every 20 ms", "common rates"),
        ("Targets (4.3.1)", "a range of input configurations", "targets of 5, 10, 20 and 40 ms, as times or as the "
         "corresponding lengths; 13 transfers", "then all disciplines control the same thing; a discipline without a "
         "target, or with a given one, is the same at each point"),
        ("Small packets (4.4)", "half of the flows, such as 500 bytes", "three of six transfers", "windows count "
         "packets, as in TCP: if all lose equally, transfers of large packets carry three times as much"),
        ("Time 0, phases (8.2)", "when all transfers are in congestion avoidance", "the end of the warm-up, during "
         "which all send; then at least one whole cycle of phases. The tables say when the last transfer left slow "
         "start", "changes have to be planned before a run"),
        ("Varying congestion (8.2.5)", "phases", "19 transfers, of which 6, 13 and 19 send", "idle transfers were in "
         "congestion avoidance at time 0, too; when they restart, their windows are as Linux sets them"),
        ("Varying capacity (8.2.6)", "the capacity varies", "the rate of the link changes, and disciplines that "
         "compute with it learn the new one", "a shaper or a modem's driver "
         "also tells disciplines its rate; with a trace no discipline learns it"),
        ("Requests and responses of DNS (9.2)", "", "datagrams of 80 and 200 bytes at random, 20 a second", "only "
         "their loss is of interest: nobody answers them or sends them again"),
        ("Goodput (2.5)", "bits for each unit of time, less what was lost or sent again", "IP bits delivered, "
         "without the flow's unnecessary retransmissions", "rates of links are in IP bits; "
         "`goodput_bps` in the tables of a run is in bits of data"),
        ("Delay of a link (4.2)", "", "mean and 99th percentile of the queueing delay", "end-to-end delays matter "
         "more, and have all percentiles"),
        ("ECN", "with and without", "without, except in Sections 3.3 and 4.5", "most disciplines mark only if a "
         "parameter says so"),
        ("DECbit, UT/LT, Source Quench, drop preference, L4S step", "", "hosts give no preference and ignore these "
         "disciplines' signals, except marks in Sections 3.3 and 4.5, where they use ECN", "the hosts are the same "
         "for all. Elsewhere L4S step acts as CoDel, and the others as Drop Tail"),
        ("Classes (4.6)", "", "a flow's class, 0 or 1, chooses its queue; the discipline in the queue also reads it: "
         "class 1 is DSCP 1 for cake, and the second class for gred and fq_linux", "each queue has only packets "
         "of one class"),
        ("Two queues (10.2)", "no capacities; the same scheme, with other values, or two schemes", "5 Mbit/s, then "
         "10. At the first the discipline under test; at the second the same, the same with a target of 40 ms, PIE, "
         "or Drop Tail. 83 packets at each", "at equal rates the first queue would stay empty"),
        ("Asymmetric links (3.1)", "", "10 Mbit/s down, 2 Mbit/s up, six and four transfers; targets in packets fit "
         "the rate of each direction, and each has a buffer of 83 packets; a direction without the discipline has "
         "Drop Tail", "uploads are as slow as in homes; a full buffer takes 0.5 s there"),
    ),
    settings=FULL,
    quick=QUICK,
    periods=f"every {PERIOD_S:g} s, {K} base round trips of 100 ms, for all disciplines (Sec. 2.7)",
)  # fmt: skip
