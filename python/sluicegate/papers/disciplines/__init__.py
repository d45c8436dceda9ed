"""All disciplines side by side, and a study of what DCN 2004 leaves open.

`workloads` runs every discipline on three scenarios, `choice` ranks them by what was measured, and `dcn_study` varies
DCN's unstated parameters one by one, with both control laws and both readings of pktcount.
"""

from __future__ import annotations

from ...reproduce import Choice, Paper, Settings

PAPER = Paper(
    name="disciplines",
    title="All disciplines, side by side",
    citation="All disciplines on three scenarios; and what L. Le, J. Aikat, K. Jeffay and F. D. Smith, Differential "
    "Congestion Notification: Taming the Elephants, ICNP (2004), leaves open.",
    short=Settings(seeds=tuple(range(1, 6)), duration_s=60, warmup_s=20, sample_s=2),
    full=Settings(seeds=tuple(range(1, 11)), duration_s=200, warmup_s=50, sample_s=5),
    scenario="long_and_short",
    provenance={"Scenario 1": "twice the simulated time of the others"},
    commands=(
        "sluicegate compare unresponsive --set flows.0.profile=linux --disciplines drop_tail,red,choke,fq_codel",
        "sluicegate compare mixed_round_trips --disciplines drop_tail,red,pie,fq_codel",
        "sluicegate compare bursts --disciplines drop_tail,red,choke",
        "sluicegate run long_and_short --set queue.dcn.law=printed",
        "sluicegate run long_and_short --set queue.dcn.threshold=20 --seed 3",
    ),
    choices=(
        Choice("Hosts", "ns-2's and FreeBSD 4.5's", "Linux's Reno in scenarios 1 to 3, from which the study of DCN "
               "takes its unresponsive flow; FreeBSD 4.5's in the rest of that study, as in DCN 2004", "which "
               "discipline to use is a question about today's hosts; what a paper leaves open is one about the paper's "
               "hosts. Where a statement on the choice of a discipline depends on the hosts, ns-2's stand beside "
               "Linux's"),
        Choice("DCN: threshold, clearing interval", "no values", "10 packets, 0.5 s", "chosen here [D]; varied above"),
        Choice("DCN: a, b, T_update; bounds of p_ref", "a < b; no values", "from the flows in HB with a gain of 2/9, "
               "6.25 ms; at least 0.1 packets, and at most the largest pktcount while a queue stands", "AFD's ratio "
               "and frequency [D]; varied above. In runs of two hours, with 2000 flows in HB, gains and least p_ref "
               "decide whether the queue is held: see the report on DCN 2004"),
        Choice("DCN: T_dec", "800 ms", "800 ms", "as printed; varied above"),
        Choice("DCN: SB, HB", "a fixed number; a few thousand entries", "16384 entries; 8192 flows",
               "chosen here [D]; varied above"),
        Choice("DCN: sign of the proportional term", "pushes the wrong way as printed", "AFD's order; the printed one "
               "beside it", "see “Laws and readings”"),
        Choice("DCN: pktcount", "forwarded (Sec. 3.1) or arrived (Sec. 3.2)", "forwarded; the other beside it", "only "
               "then do the two sections agree at equilibrium"),
        Choice("Traffic of the study", "HTTP sessions on 100 Mbit/s", "transfers of eight lengths on 20 Mbit/s that do "
               "not wait for each other", "quick, and the load is known; the paper's own traffic is in another report"),
        Choice("Targets of the comparison", "each paper sets its own", "one number of packets for thresholds, q_ref "
               "and b_ref of all", "differences are then those of rules, not of settings"),
        Choice("CoDel, FQ-CoDel, PIE", "5 and 15 ms", "the same, also on 1 Mbit/s, where a packet takes 8 ms", "they "
               "are to need no setting; the delay that they hold is part of the comparison. On so slow a link RFC "
               "8290, Sec. 5.2.2, asks for a target of a packet's time at least"),
        Choice("RED-PD", "R = 40 ms, the round trip of a flow that is to be left alone", "the same", "with round trips "
               "of 0.4 s in scenario 1 it allows the UDP flow more than a TCP gets"),
        Choice("RIO and CSFQ", "an edge marks or labels packets", "the edge stands at the queue itself; in scenarios 1 "
               "to 3 nothing marks for RIO, so that it judges all packets alike", "one link is all there is"),
        Choice("DECbit", "hosts read its bit", "hosts that do not", "the same hosts for all; it is Drop Tail then"),
    ),
)  # fmt: skip
