"""RED: S. Floyd and V. Jacobson, IEEE/ACM Transactions on Networking 1(4), 1993. Figs. 3, 5, 7 to 9, 12 to 16.

Each figure has a network of its own; `network` is what they share, `average` measures single packets: eq. (1), max_th.
"""

from __future__ import annotations

from ...reproduce import Choice, Paper, Settings

PAPER = Paper(
    name="red1993",
    title="RED 1993, reproduced",
    citation="S. Floyd and V. Jacobson, Random Early Detection Gateways for Congestion Avoidance, IEEE/ACM "
    "Transactions on Networking 1(4) (1993). Figures 3, 5, 7 to 9 and 12 to 16.",
    short=Settings(seeds=tuple(range(1, 21)), duration_s=10, warmup_s=0, sample_s=1),
    full=Settings(seeds=tuple(range(1, 101)), duration_s=10, warmup_s=0, sample_s=1),
    scenario="red1993_fig3",
    provenance={
        "Simulated time": "the paper's own, given with each figure",
        "Queue": "packets that wait; the one in transmission is not counted",
    },
    commands=(
        "sluicegate run red1993_fig3 --seed 1",
        'sluicegate run red1993_fig3 --set run.duration="2 s" --set run.warmup="1 s" --seed 1',
        "sluicegate run red1993_fig5 --set queue.min_th=5 --set queue.max_th=15",
        "sluicegate run red1993_fig5 --set queue.discipline=drop_tail --set queue.limit=65 "
        '--set flows.0.send_jitter="0.178 ms"',
        "sluicegate design red --rate '45 Mbit/s' --rtt '20 ms' --burst 50 --packet-size '1000 B' "
        "--delay-target '10 ms'",
        "sluicegate run red1993_fig9 --seed 1",
        "sluicegate run red1993_fig11 --set queue.discipline=drop_tail --set queue.limit=12 "
        '--set flows.0.send_jitter="0.17 ms" --set flows.1.send_jitter="0.17 ms"',
        "sluicegate run red1993_fig11 --set queue.discipline=random_drop --set queue.limit=12",
        "sluicegate run red1993_fig11 --set queue.min_th=7 --set queue.max_th=14 --set queue.limit=28",
        "sluicegate run red1993_fig11 --set queue.discipline=decbit --set queue.limit=200 "
        "--set flows.0.algorithm=decbit --set flows.1.algorithm=decbit",
        "sluicegate run red1993_fig3 --set run.duration=20s",
        "sluicegate run red1993_fig3 --set run.duration=20s --set queue.discipline=drop_tail --set queue.limit=22",
    ),
    choices=(
        Choice("Rate of the congested link", "a packet takes 0.17 ms; packets of 1000 bytes", "45 Mbit/s", "1000 bytes "
               "take 0.178 ms there; 0.17 is its first two digits, and 45 Mbit/s the rate of a T3 line of that time"),
        Choice("An average at max_th or above", "the text: “exceeds”; Figs. 1 and 17: at least", "every arrival is "
               "dropped when the average is max_th or more", "as the figures have it"),
        Choice("Gaps between marks", "Fig. 2, Sec. VII and Fig. 17 give three laws", "Sec. VII: uniform on 1 … 1/p_b",
               "the law that the text derives; the gaps of each way of marking are tested against its own law"),
        Choice("TCP", "4.3-Tahoe's congestion control; a first threshold of half the advertised window; an "
               "acknowledgement for each packet", "the profile `red1993`, which has these",
               "see the manual's page on hosts"),
        Choice("Delays of Fig. 4", "lost with the drawing; windows of 33 to 112 packets, roughly delay times bandwidth",
               "6, 12, 20 and 14 ms there and back for nodes 1 to 4; 2 ms of them on the congested link, each way",
               "33 and 112 packets are the products at 6 and 20 ms; the other two, and the order, are chosen"),
        Choice("Rate of the access links", "not in the text", "100 Mbit/s", "above the congested link's, so that "
               "windows arrive in bursts; the variants show that it hardly matters"),
        Choice("Idle decay", "“a typical transmission time of a small packet”", "that of 500 bytes", "see the manual"),
        Choice("Slow changes of the average", "“fairly slowly compared to” the queue, no measure", "the distance "
               "that the average moves from arrival to arrival, divided by the distance that the queue moves", "1 for "
               "an average that is the queue itself"),
        Choice("Delays of Fig. 6", "lost with the drawing; a window of 240 packets, roughly delay times bandwidth",
               "42 ms there and back, 40 of them on the congested link", "236 packets; 43 ms (241) is among "
               "the variants"),
        Choice("Starts in Fig. 5", "“slightly different times”", "drawn between 0 and 0.1 s", "two round trips; the "
               "variants show that it matters, because a run of 5 s is mostly start"),
        Choice("Sets of Fig. 5", "buffers from 15 to 140, min_th from 3 to 50, eleven of each", "evenly spaced, in "
               "whole packets", "the simplest reading"),
        Choice("High utilisation", "“simulations with high link utilization”", "80 % and more",
               "both gateways reach it"),
        Choice("Power", "throughput over delay", "with the delay of the queue and the packet's own time; and with the "
               "whole round trip", "the paper does not say which; both are tested"),
        Choice("Fig. 8, Method 2", "p/(1 + i·p), for i unmarked packets since the last mark", "p/(1 − i·p)", "a "
               "misprint: Sec. VII derives the minus, and the plus would not mark 100 of 5,000"),
        Choice("More clustered", "no measure", "the coefficient of variation of the gaps between marks", "it is 0 for "
               "even gaps, 0.57 for uniform and 0.99 for geometric ones"),
        Choice("The average after 100 packets", "4.88", "compared after cutting digits beyond the printed ones", "eq. "
               "(2) gives 4.887; the paper also cuts 0.178 ms, the time of a packet, to 0.17 ms"),
        Choice("Traffic of Fig. 9", "“chosen rather arbitrarily”; 41 connections, windows of 8 or 16, 20 to 400 "
               "packets",
               "36 transfers and 5 TELNET sessions; sizes and windows in the scenario, starts drawn", "the utilisation "
               "follows from what they send, so that it is shown beside the paper's and tests nothing"),
        Choice("Delays of Fig. 10", "lost with the drawing; round trips vary by a factor of 4 to 1", "6 to 24 ms",
               "the sixteen pairs of nodes 0.5, 1, 3 and 5 ms away from gateways that are 2 ms apart"),
        Choice("Which direction has 61 %", "“in one direction”", "that of gateway A", "it has one connection more"),
        Choice("TELNET", "“a few” connections", "five; gaps exponential with a mean of 1.1 s", "in one second they "
               "send a packet or two each"),
        Choice("Delays of Fig. 11", "lost with the figure; node 5's round trip is six times the others'",
               "6 ms and 36 ms", "the paper varies min_th up to 14 and buffers up to 22 packets. At 6 ms four windows "
               "of 12 packets leave 14.25 packets waiting, and 22.25 with node 5's: the ranges end there, because "
               "above them RED has nothing to mark and Drop Tail nothing to drop. 6 ms is Fig. 4's shortest round "
               "trip, too"),
        Choice("Access links of Fig. 11", "not stated", "100 Mbit/s", "faster than the bottleneck, so that a window "
               "comes as a cluster"),
        Choice("A loose cluster", "one long interarrival time and many smaller ones", "the median of the times between "
               "node 5's arrivals, over their mean", "0.69 for Poisson arrivals, 1 for even ones"),
        Choice("Starts in Figs. 12 to 15", "not stated", "at random within the first 0.1 s", "ten seconds are counted "
               "from the beginning, slow start included"),
        Choice("Preparation time", "Figs. 12 and 5: uniform on 0 to the bottleneck service time of 0.17 ms for each "
               "packet, “in the simulations with Drop Tail gateways”", "the same, with Drop Tail only; in Fig. 5 the "
               "service time itself, 0.178 ms; packets of one host are prepared one after another", "the words "
               "of the paper"),
        Choice("Buffer", "counted in packets", "the packet in transmission is not in it", "so in ns-2 and Linux"),
        Choice("DECbit in Fig. 15", "simulations with ISO TP4, without a figure", "the same network and windows with "
               "DECbit's hosts and gateway; a buffer of 200 packets, which never fills", "isolates the gateway"),
        Choice("No global synchronisation", "no measure", "the mean correlation, over pairs of flows, of window cuts "
               "in intervals of 40 ms, on the network of Fig. 4 with all four transfers from the start on", "0 when "
               "the flows cut their windows independently, 1 when all do so together; Drop Tail's buffer is such that "
               "it keeps about the same average queue"),
        Choice("Byte mode", "thresholds in bytes are not given", "10 and 60 packets of 1000 bytes, four FTP "
               "connections and 60 TELNET sessions of 40 keystrokes a second", "the average stays between the "
               "thresholds, where chance decides"),
        Choice("Misbehaving users", "Zhang's 1989 thesis: roughly 75 % more throughput; neither network nor "
               "misbehaviour is described", "five hosts without congestion control (a fixed window) beside five of "
               "4.3-Tahoe on a line of 20 ms with a buffer of 60 packets; windows from 8 to 48 packets", "the number "
               "depends on the window, so the check is whether the paper's lies between those of neighbouring "
               "windows"),
        Choice("Luck", "each mark falls on connection i with probability p_i", "Poisson sources with fixed parts of a "
               "load of 1.02 at a RED gateway; windows of time with about 100 drops", "the assumption, made true in "
               "simulation"),
    ),
)  # fmt: skip
