"""All that RFC 7928 asks for, section by section, and what is done of it. The report and the page
`docs/evaluation-rfc7928.md` are made of this table.

Each row of `TABLE` has the section, the word, what is asked for, whether it is done ("text": in the manual), and how.
A word is the RFC's own where it has "must", "should", "recommended" or "may"; "need to" and "is to be" count as must,
"ought to", "advise" and "important" as should, "suggested" as recommended, "could", "can" and "encouraged" as may. What
it asks of those who propose a discipline is here asked of this package.
"""

from __future__ import annotations

from ..suite import asked_table

WEIGHTS = {
    "3.1": "not in Fig. 4: should be considered",
    "3.3": "not in Fig. 4: optional",
    "4.3.1": "not in Fig. 4: recommended",
    "4.4": "not in Fig. 4: can be used",
    "4.5": "must be discussed if supported",
    "4.6": "should be discussed",
    "5.1": "must be considered",
    "5.2": "must be considered",
    "5.3": "must be considered",
    "5.4": "may be considered",
    "6.1": "not in Fig. 4: important",
    "6.2": "must be considered",
    "7.1": "not in Fig. 4: may be evaluated",
    "7.2": "must be considered",
    "8.2.2": "not in Fig. 4: can be used",
    "8.2.3": "not in Fig. 4: can be used",
    "8.2.4": "not in Fig. 4: can be used",
    "8.2.5": "must be considered",
    "8.2.6": "must be considered",
    "8.3": "should be discussed",
    "9.1": "is recommended",
    "9.2": "may be considered",
    "10.2": "may be considered",
}
"""Fig. 4, by section: "must be considered", "is recommended" and "may be considered" are said of scenarios."""

TABLE = """
1.1 | should | assess a discipline in a variety of scenarios | done | every scenario
1.1 | should | aim at both high goodput and low delay | partly | every scenario shows both for each discipline, without judging them
1.2 | should | compare with Drop Tail, its buffer the bandwidth-delay product | done | `drop_tail` runs as a reference, with 83 packets
2 | must | consider what less delay costs in goodput | done | every scenario shows both
2.1 | may | flow completion times | done | `initial-windows`, `asymmetric`, `both-ways`: only for transfers of 50 packets and of one packet
2.1 | recommended | for web pages, the time for all objects | done | `bursts-1` to `bursts-4`, `traffic-mix`: page load
2.2 | may | flow start-up times, with DNS lookups, TCP opens and TLS handshakes | partly | `initial-windows`, `asymmetric`, `both-ways`: from the start of a transfer until its first data; no lookups, no TLS; not measured for web users
2.3 | should | the packet loss ratio, frequently, or the interval between losses | done | in all scenarios: loss of the whole run, its distribution per second, and intervals between loss events. If phases alternate: loss over time. In `initial-windows`, `asymmetric`, `traffic-mix` and `both-ways`: intervals between single losses
2.3 | should | compare packets sent with those received | done | the simulator counts both, and every loss
2.4 | should | the degree of loss synchronization, with and without the discipline | done | the global synchronization ratio, in every table, also for `drop_tail`
2.5 | should | goodput of each flow, not of aggregates | done | the table `transfers`; distributions are of single flows
2.5 | must | a setup without losses of its own | done | hosts and their links drop nothing
2.5 | should | goodput obtained frequently | done | every second
2.6 | should | end-to-end latency and its variation (RFC 5481: against the least delay) | done | in every table, for each kind of traffic
2.6 | should | delay variation (PDV, RFC 5481) of packets from the same flow | partly | per group: the packets of all its flows are pooled, so differences between flows count as variation; a group with one flow has that of the flow
2.7 | recommended | goodput at least every K·minRTT, K = 10 | partly | every second: K is 10 with the round trip of 100 ms of most scenarios, 200 with 5 ms, 5 with 200 ms, less than 2 with 560 ms
2.7 | must | disclose the period of measurement | done | a second, in the report's description
2.7 | should | the same periods for all schemes | done | a second for all
2.7 | recommended | delays of each packet | partly | for all groups of flows; for phases only samples of the queue
2.7 | should | distribution functions of the metrics | done | the table `distributions` has goodput of flows per second, delays, losses per second, completion times and page load times. Figures show goodput and delays, but not for scenarios with several points
2.7 | may | the course over time where parameters vary | done | `varying-congestion`, `varying-capacity`; `varying-capacity-fast` over one cycle, as the mean of all cycles; not `varying-capacity-radio`
2.7 | may | graphs of delay and goodput with ellipses | done | every scenario except those over round trips and targets, which have curves instead
3.1 | should | symmetric and asymmetric bottlenecks | done | `asymmetric`; all others are symmetric
3.1 | should | asymmetric: traffic both ways, the discipline in one direction only | done | `asymmetric`, with the discipline only down and only up
3.1 | may | the discipline in both directions | done | `asymmetric`, both; `both-ways`
3.1 | should | the effect of drops on acknowledgements, and on performance | done | `asymmetric`, `both-ways`: loss of ACKs beside goodput and completion times
3.1 | should | attention to the topology when schemes are compared | done | all disciplines run on the same networks, among them `asymmetric` and `two-queues`
3.2 | should | choose the buffer with care; it may be the bandwidth-delay product | done | that product, 83 packets, for all disciplines, with the round trip of most flows, not with the largest one of `round-trips`
3.2 | must | justify the buffer's size | done | see “What the RFC leaves open”
3.2 | should | the same buffer across the tests | partly | 83 packets for all disciplines, except in `bursts-buffers`, which varies it, and on a link that is ten times as fast (8.2.6), where it is ten times as large
3.3 | should | NewReno with SACK as the standard, CUBIC and LEDBAT | done | Linux's Reno, which has SACK, its CUBIC, and LEDBAT
3.3 | may | other congestion controls | done | `scalable`: Prague. Any other by `--set flows.*.algorithm=bbr`
4.1 | should | describe the setup, with versions | done | summary.json and the report
4.1 | may | make setup and results public | done | the page of all results; the package
4.1 | should | real systems, or event-driven simulation | done | simulation
4.2 | should | also queue-level metrics: utilization, delay, size of the queue, drops and marks, and the discipline's own metrics | done | rows `link`: utilisation, delay, losses, marks, the mean and the greatest length of the queue, and the discipline's own average, if it keeps one; of these, rows of phases have only utilisation, delay, losses and marks
4.2 | must | an evaluation primarily by end-to-end metrics | done | the overview has metrics of flows, except for the delay in a phase and the loss of ACKs
4.3 | must | compare by performance and by deployment | partly | “What each discipline needs”; deployment is not scored
4.3.1 | should | compare in the scenarios of Section 13 | done | all of its scenarios
4.3.1 | may | compare in specific environments | not done | not in the suite; `sluicegate compare` runs `dsl`, `cable`, `lte`, `satellite` and `wifi`
4.3.1 | must | disclose values that were tuned | done | “What each discipline needs”; summary.json
4.3.1 | must | consider what a value means where it is used, before conclusions | text | “Values of disciplines” in “What the RFC leaves open”; the envelope of each discipline
4.3.1 | recommended | set parameters that control the same behaviour to the same effect | done | `targets`; in other scenarios targets in packets are set for the link
4.3.1 | recommended | compare over a range of input configurations | partly | `targets`: four target delays. A discipline without a target, or with a given one, is the same at each. For other parameters name several disciplines, `evaluate red:max_p=0.02 red:max_p=0.1`
4.3.1 | may | list parameters and how they relate to the network | text | the reference of disciplines
4.3.2 | must | compare by parameter sensitivity, auto-tuning and cost | partly | `targets` and “What each discipline needs”; nothing is scored
4.4 | should | no undue advantage to flows with small packets | done | `packet-sizes` shows it
4.4 | may | mild congestion, half of the flows with packets of 500 bytes; metrics of 6.3 | done | `packet-sizes`
4.4 | may | the same in both directions | done | `packet-sizes-both-ways`
4.5 | must | discuss and describe ECN support | text | “What each discipline needs”; the reference of disciplines
4.5 | may | repeat Section 6.2 with ECN | done | `ecn`, beside `round-trips`
4.6 | must | discuss scheduling with the discipline | partly | `scheduling` runs it in two classes; the reference says which disciplines schedule
4.6 | may | say whether it drops at enqueue or at dequeue | text | the reference of disciplines
4.6 | should | scenarios of their own for schedulers that give priority to flows | not done | out of the RFC's scope, as it says; such disciplines run in the same scenarios as all others
5.1.1 | must | one NewReno transfer, initial window 3 | done | `friendly`
5.1.1 | may | other TCP-friendly controls, such as TFRC | not done | TFRC is not implemented
5.1.2 | must | a long transfer and one of more than 10 and less than 100 packets, initial window 3 or 10 | done | `initial-windows`: 20 short ones with each window
5.1.2 | must | the short one starts in steady state | done | after the warm-up
5.1.2 | may | its completion time | done | `initial-windows`
5.2 | must | one CUBIC transfer | done | `aggressive`; beside NewReno in `aggressive-friendly`
5.2 | may | other aggressive controls | done | `aggressive-bbr`; any other by `--set flows.*.algorithm=bbr3`
5.3 | must | a UDP flow above the capacity | done | `unresponsive`
5.3 | must | a UDP flow of half to all of the capacity beside NewReno | done | `unresponsive-friendly`
5.4 | may | LEDBAT beside NewReno, target 5 ms, gain 10 | done | `less-than-best-effort`
5.4 | may | other TCP-friendly controls beside it | not done | TFRC is not implemented
5.4 | may | other less-than-best-effort controls | not done | only LEDBAT is implemented
6.1 | should | a set of round trips, such as 5 to 200 ms | done | `one-round-trip`
6.1 | should | different round trips of paths that share the bottleneck | done | `round-trips`: 100 ms beside 5 to 560 ms, as in Section 6.2
6.1 | should | unfairness if round trips are the same | done | `one-round-trip`, at 100 ms also in `round-trips`
6.2 | must | two flows, 100 ms and 5 to 560 ms | done | `round-trips`
6.2 | must | the same congestion control for both | done | `round-trips`
6.3 | must | both goodputs, their ratio, and the drop rate of each | done | `round-trips`, `ecn`, `packet-sizes`
7.1 | should | bring bursts under control: neither peaks of delay nor many drops of long flows | partly | `bursts-1` to `bursts-4` have the 99th percentile of delay and the losses of each kind of traffic; the suite does not judge them
7.1 | may | the influence of the buffer's size | done | `bursts-buffers`: half to four times the bandwidth-delay product
7.2 | must | web, CBR, bursty video and bulk in four mixes | done | `bursts-1`, `bursts-2`, `bursts-3`, `bursts-4`
7.2 | should | six connections, initial window 10; pages of 50 objects of 1 kB at least | done | `bursts-1` to `bursts-4`
7.2 | may | latency, jitter and completion time | done | `bursts-1` to `bursts-4`
8.2 | should | the graphs of Section 2.7, goodput of all flows summed | done | `mild` to `varying-capacity-fast`
8.2 | should | results for each phase as well | done | `varying-congestion`, `varying-capacity`, `varying-capacity-fast`: rows of phases, whole cycles
8.2 | must | time 0 when all transfers are in congestion avoidance | done | time 0 is the end of the warm-up; the tables say when the last transfer had left slow start
8.2.2 | may | mild congestion, ROUND(0.036 S) transfers | done | `mild`
8.2.3 | may | medium congestion, ROUND(0.081 S) transfers | done | `medium`
8.2.4 | may | heavy congestion, ROUND(0.114 S) transfers | done | `heavy`
8.2.5 | must | these in phases of 20 s | done | `varying-congestion`
8.2.6 | must | capacities of 100 and 10 Mbit/s, 20 s and 100 ms each | done | `varying-capacity`, `varying-capacity-fast`: the link's rate changes
8.2.6 | must | compare with Drop Tail | done | `drop_tail` runs as a reference
8.2.6 | should | a document on performance and deployment beside Drop Tail | text | “Which should I use?” and the page of all results
8.2.6 | may | variations during slow start | not done |
8.2.6 | may | realistic patterns of capacity | done | `varying-capacity-radio`: traces of LTE and Wi-Fi
8.2.6 | may | bursts under varying capacity | done | `varying-capacity-bursts`
8.3 | should | a theory of the control law and its stability, self-tuning included | partly | for RED, PI and CHOKe; sensitivity to targets in `targets`
8.3 | must | signals that do not work against the dynamics of the transports | partly | loss synchronization, intervals between losses, and the goodput of Reno, CUBIC, LEDBAT and Prague; nothing is judged
8.3 | should | stability where a path has several queues | done | `two-queues`
9.1 | recommended | VoIP both ways, six web users, CBR, adaptive video and five bulk transfers | partly | `traffic-mix`; on a slow path the video's chunks come later, but do not become smaller
9.1 | may | other mixes; completion times, latency and jitter for each kind | done | `traffic-mix` has these metrics; no other mixes
9.2 | must | traffic in both directions | done | `both-ways`
9.2 | recommended | mild congestion in both | done | `both-ways`
9.2 | must | the metrics of 8.2 for each direction | done | `both-ways`: rows down and up, and of both links
9.2 | should | whether control packets are lost more often | done | `both-ways`: SYNs, ACKs, and datagrams like those of DNS
9.2 | may | the mix of 9.1 in both directions | done | `traffic-mix-both-ways`
10.2 | may | flows A over two queues, B over the second, equally many, mild congestion | done | `two-queues`: three and three
10.2 | may | the same scheme; with other values; two schemes | done | `two-queues`: the second queue has the same discipline, the same with another target, PIE, or Drop Tail
10.2 | may | other levels of congestion | not done | `--set flows.*.count=7 --only 10.2` runs another level
10.2 | recommended | the metrics of 8.2 | done | `two-queues`
11.1 | should | pseudocode, inputs, computations and timers | text | a source file for each discipline that reads like its paper; its page in the reference
11.2 | should | what depends on the device | partly | “What each discipline needs” says what is derived from the link; the page on BPF says what the kernel provides
12.1 | should | no tuning of parameters in common cases | partly | all parameters are defaults, except buffers and targets in packets; “What each discipline needs” lists them. The envelope of each discipline says on which links its defaults suffice
12.1 | should | expose only parameters that control what a discipline does as a whole | not done | each discipline exposes all parameters of its paper or of Linux; “What each discipline needs” lists them
12.1 | must | tune itself if conditions would require tuning | partly | shown, not judged: `varying-congestion`, `varying-capacity` and `varying-capacity-fast` with the same values in all phases; the envelope of each discipline
12.2 | should | describe the parameters, and which need tuning | text | the reference of disciplines; “What each discipline needs”
12.2 | should | justify fixed parameters | text | the tables of deviations in the reference
12.2 | may | what happens if parameters are not tuned | text | the envelope of each discipline
12.2 | must | disclose values tuned from outside | done | “What each discipline needs”
13 | may | the weight of each scenario | done | next to each scenario; `evaluate --list`
"""  # noqa: E501

ASKED = asked_table(TABLE)
"""In the order of the RFC."""
