"""DCN: L. Le, J. Aikat, K. Jeffay and F. D. Smith, Differential Congestion Notification, ICNP 2004. All its figures
with data (1, 2, 5 to 20) and both tables.

Web users on both sides of a link of 100 Mbit/s, at loads of 90, 98 and 105 %, and a mix of TCP connections, under Drop
Tail, PI, AFD, RIO-PS and DCN. `load` finds how many users make a load, for each seed; `network` is what all experiments
share, `response_times` makes distributions of what they count, and `tables` holds the paper's numbers.
"""

from __future__ import annotations

from ...reproduce import Choice, Live, Paper, Settings
from .network import prepare, restore
from .scaled import prepare as prepare_scaled

PAPER = Paper(
    name="dcn2004",
    title="DCN 2004, reproduced",
    citation="L. Le, J. Aikat, K. Jeffay and F. D. Smith, Differential Congestion Notification: Taming the Elephants, "
    "Proc. IEEE ICNP (2004). Figures 1, 2 and 5 to 20, Tables 1 and 2.",
    short=Settings(seeds=(1, 2), duration_s=120, warmup_s=30, sample_s=1),
    full=Settings(seeds=(1,), duration_s=7200, warmup_s=1800, sample_s=60),  # the paper's
    scenario="dcn2004",
    prepare=prepare,
    restore=restore,
    live=Live(
        short=Settings(seeds=(1,), duration_s=55, warmup_s=15, sample_s=1),
        full=Settings(seeds=(1,), duration_s=300, warmup_s=60, sample_s=1),
        prepare=prepare_scaled,
    ),
    provenance={"Comparisons": "schemes are compared run by run, with the same users and the same draws"},
    commands=(
        "sluicegate run dcn2004 --set queue.discipline=drop_tail --set queue.limit=240",
        "sluicegate run dcn2004 --set queue.dcn.q_ref=24 --set queue.limit=1000",
        "sluicegate run dcn2004_tcp --set queue.discipline=rio_ps --set queue.rio_ps.action=mark "
        "--set flows.0.ecn=true --set flows.1.ecn=true",
    ),
    choices=(
        Choice("Length of runs", "120 minutes, of which 90 are measured", "the paper's, in runs that are kept with "
               "Sluicegate, where the page says “full length”; 2 minutes, of which 1.5 are measured, in the short runs "
               "beside them", "full length takes hours, the short runs some minutes on two cores; --full runs the "
               "paper's length anew. The link, the users and the loads are the paper's in both. In short runs the "
               "longest responses do not end, so that congestion is milder"),
        Choice("Loads", "a population of users that makes 90, 98 or 105 Mbit/s on an uncongested link, over 90 "
               "minutes", "for each seed the number of users whose draws make the load in the measured time, within "
               "0.75 %, in each direction", "sizes have heavy tails: the same number of users would make 95 or 110 "
               "Mbit/s in runs of minutes"),
        Choice("Users", "20,000 for about 105 Mbit/s one way, on both sides", "about 10,000 on each side", "Table "
               "1's requests of both directions then agree with its throughput: 8 kB for each"),
        Choice("The link's frames", "100 Mbit/s Ethernet", "38 bytes around each packet take time, but count as no "
               "load", "with packets of 600 bytes at most 94 Mbit/s of IP fit, which agrees with Drop Tail's 92.4 in "
               "Table 1"),
        Choice("Distributions of the browser", "named, and cited", "chosen to meet every number of the text; see "
               "“Users and connections” in the manual", "the measured tables are data of others"),
        Choice("Delays", "10 to 150 ms for each flow, “round-trip times”; “RTT up to 400 ms”", "uniform round trips "
               "of 10 to 150 ms without queues; 10 to 150 ms each way under “Delays”", "the paper means a typical "
               "range within the continental U.S."),
        Choice("End hosts", "windows of 16 KB, a least timeout of 1 s, FreeBSD 4.5", "the profile dcn2004: NewReno, "
               "delayed acknowledgements, a first window of 1 segment", "that system's defaults"),
        Choice("PI's start", "20 minutes of warm-up", "p starts near what it comes to in long runs", "from 0 it "
               "would take minutes"),
        Choice("PI's unit", "nothing", "byte mode: a packet's drop probability is proportional to its length",
               "in packet mode requests and throughput are 3 to 8 % below Table 1's, and with ECN one direction drops "
               "three times as much as the other; by bytes both directions are alike and these columns come near. "
               "Losses do not: with ECN they are a quarter of the printed ones. See “PI's modes”"),
        Choice("PI's gains", "“best settings”", "those of Hollot et al. (2001), at 170 Hz", "the paper cites them"),
        Choice("DCN's law", "p_ref rises with the last queue and falls with the one before", "AFD's signs, and the "
               "printed ones beside", "the printed law does not hold the queue"),
        Choice("DCN's gains", "a < b; “depend on the average number of flows”", "derived from the flows in HB at each "
               "update", "with fixed ones the queue is no longer held after an hour, when 2000 flows are in HB"),
        Choice("DCN's p_ref", "nothing on its first and its largest value", "infinite until a queue above q_ref has "
               "stood for 100 ms; then at most the largest recent pktcount", "a fixed bound in packets would be a "
               "different rate on each link; at the largest pktcount nothing is dropped, so p_ref does not wind up"),
        Choice("DCN with an empty queue", "nothing", "a packet that finds it empty is queued, whatever its flow's "
               "count", "there is no congestion to notify of"),
        Choice("DCN's threshold and clearing interval", "no values", "10 packets, 0.5 s", "Table 1's loss suggests a "
            "threshold of some 40 packets, but with that the queue is not held. See “Threshold”"),
        Choice("AFD's gains", "1.7 and 1.8 in AFD's paper, from memory", "derived from the flows in the shadow buffer "
               "and the arrivals", "as DCN's"),
        Choice("Repeated SYNs", "FreeBSD 4.5", "the first four repetitions wait 3 s each", "that system's "
               "tcp_syn_backoff; at a tenth of the scale it adds 0.3 points to Drop Tail's loss at 105 %"),
        Choice("Order of curves", "read from figures", "the mean response time with times above 2 s counted as 2 s, "
               "paired by seed", "the area over the curve as the paper draws it"),
        Choice("“Close” and “reasonably good”", "no measure", "nearer to the uncongested network's mean response "
               "time than to Drop Tail's under the same load", "these two are the ends of the paper's comparison"),
        Choice("“Rather small”, “modestly worse” and “significant degradation”", "no measure", "growth of the mean "
               "response time from 90 % load, less or more than half of that under Drop Tail (for PI with "
               "ECN: half of that without)", "small and large are relative to what users have without the scheme"),
        Choice("“Little” from ECN", "no measure", "less than a tenth of the mean response time", "what a reader "
               "sees of two curves"),
        Choice("“Not starved”", "no measure", "bytes of completed responses above 100,000 bytes at 105 %: at least "
               "half of those under Drop Tail", "Drop Tail treats all packets alike"),
        Choice("Unresponsive flow", "said, not measured", "UDP at 10 Mbit/s among the users of 90 % load: under DCN "
               "less than half of what it gets under Drop Tail", "TCP flows get at most a tenth of these 10 Mbit/s"),
        Choice("General TCP", "vectors of an Internet2 link", "drawn connections that offer 105.3 Mbit/s in one "
               "direction and 91.2 Mbit/s in the other, with 46 kB for each exchange: Table 2's throughput over its "
               "exchanges; the largest has 1 GB, about what a window of 16 KB carries in two hours", "the vectors are "
               "data of others. Loss under overload depends on the size of the largest connections, because a few of "
               "them bring the load that exceeds the link: with at most 20 MB, 400 MB and 1 GB Drop Tail "
               "loses 19, 5.3 and 3.9 % in trial runs (Table 2: 3.7 %)"),
    ),
)  # fmt: skip
