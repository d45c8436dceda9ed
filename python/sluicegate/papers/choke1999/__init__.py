"""CHOKe: R. Pan and B. Prabhakar, Stanford technical report CSL-TR-99-779, 1999. Figs. 2 to 19.

32 TCP transfers share a link of 1 Mbit/s with UDP sources that do not react, under Drop Tail, RED and CHOKe with one
candidate or several. `network` is what all experiments share.
"""

from __future__ import annotations

from ...reproduce import Choice, Paper, Settings

PAPER = Paper(
    name="choke1999",
    title="CHOKe 1999, reproduced",
    citation="R. Pan and B. Prabhakar, CHOKe, Stanford technical report CSL-TR-99-779 (1999). Figures 2 to 19.",
    short=Settings(seeds=tuple(range(1, 21)), duration_s=400, warmup_s=100, sample_s=2),
    full=Settings(seeds=tuple(range(1, 51)), duration_s=2000, warmup_s=400, sample_s=10),
    scenario="choke1999",
    provenance={"Throughput": "IP bytes delivered to the receiver in the measured time"},
    commands=(
        "sluicegate run choke1999 --set queue.discipline=choke",
        'sluicegate run choke1999 --set queue.min_th=100 --set queue.max_th=200 --set flows.1.rate="10 Mbit/s"',
        "sluicegate run choke1999 --set queue.discipline=drop_tail",
        "sluicegate run choke1999 --set flows.1.count=5 --set queue.candidates=5",
        "sluicegate run choke1999_tcp --set queue.discipline=red",
    ),
    choices=(
        Choice("Thresholds", "30 and 60 with Fig. 9 and in Sec. 5; not stated for Figs. 2 to 7",
               "30 and 60, and 100 and 200 beside them", "the 25 % of Fig. 4 fits the larger ones better"),
        Choice("Buffer", "not stated", "300 packets, not counting the one in transmission", "larger than every "
               "threshold, so that RED and CHOKe, not the buffer, decide; the same for Drop Tail"),
        Choice("Queue weight w_q", "not stated (“as RED”)", "0.002", "the value of Floyd and Jacobson's 1993 paper"),
        Choice("Drop probability max_p", "not stated (“the same as RED”)", "0.02", "the value of Floyd and Jacobson's "
               "1993 paper"),
        Choice("Delays", "not stated", "1 ms on the bottleneck, none on the access links", "the queue of 30 packets "
               "alone takes 240 ms, so that short links hardly matter"),
        Choice("Starts", "not stated", "TCP flows start at random within the first second", "simultaneous starts "
               "would keep the flows synchronised for a while"),
        Choice("TCP", "not stated beyond FTP transfers and a window of 100", "Reno with ns-2's settings (clock of "
               "10 ms, an acknowledgement for each packet)", "the usual host of simulations of that year"),
        Choice("Packet length", "1K bytes", "1000 bytes of IP, headers included; acknowledgements 40", "throughput "
               "then counts the bytes that the link carries"),
        Choice("Duration", "not stated", "see the end of this page", "long enough for intervals that decide every "
               "check"),
        Choice("An average at max_th or above", "the text: “greater”", "every arrival is dropped when the average is "
               "max_th or more", "as RED's figures have it; the two differ on single instants only"),
        Choice("Rate of five UDP sources", "“the same arrival rate”; whose rate Figs. 16 to 19 are drawn over is not "
               "said", "each source's own, 0.1 to 10 Mbit/s, at eight rates", "the plain reading of “their arrival "
               "rate”; if their sum were meant, each would send 2 Mbit/s at 10 Mbit/s, and the checks begin with that "
               "rate"),
        Choice("Candidates", "several are drawn; nothing on drawing one twice", "independent draws; a packet drawn "
               "twice is dropped once; “drop m” has m − 1 candidates, as Sec. 5 says", "the simplest reading"),
        Choice("Thresholds of Figs. 10 to 19", "30 and 60 in Sec. 5", "30 and 60; both pairs in Figs. 12 and 13, which "
               "are compared with Fig. 4", "as in the text; figures are compared under the same thresholds"),
        Choice("No synchronisation", "no measure", "variance of the sum of the windows over the sum of their "
               "variances", "1 when the windows are independent, their number when they are synchronised"),
        Choice("No bias against bursts", "no measure", "loss of 8 packets sent at once every 4 s less that of a smooth "
               "flow of the same rate", "both meet the same queue in the same run"),
        Choice("Just like RED", "no measure", "the mean over CHOKe's runs lies where a single run of RED lies", "then "
               "a single run does not show which of the two disciplines it had"),
        Choice("A drawn packet that is already marked", "not considered", "draws are uniform over live packets only",
               "marked packets are gone in every respect but memory"),
    ),
)  # fmt: skip
