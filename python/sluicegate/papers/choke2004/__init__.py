"""Understanding CHOKe: A. Tang, J. Wang and S. H. Low, IEEE/ACM Transactions on Networking 12(4), 2004. Figs. 4 to 9.

Simulations beside three models: the full one with (43) and (44), the same with timeouts and RED's gaps, and the
approximate one. `network` is what all experiments share; `models` solves the models, `laws` tests each law by itself.
"""

from __future__ import annotations

from ...reproduce import Choice, Paper, Settings

PAPER = Paper(
    name="choke2004",
    title="Understanding CHOKe 2004, reproduced",
    citation="A. Tang, J. Wang and S. H. Low, Understanding CHOKe: Throughput and Spatial Characteristics, IEEE/ACM "
    "Transactions on Networking 12(4), 2004. Figures 4 to 9, Section VI.",
    short=Settings(seeds=tuple(range(1, 11)), duration_s=150, warmup_s=30, sample_s=1),
    full=Settings(seeds=tuple(range(1, 31)), duration_s=350, warmup_s=50, sample_s=1),
    scenario="choke2004",
    provenance={
        "Vegas": "20 s for each run, the first 5 s not measured",
        "Queue": "packets that wait; the one in transmission is not counted",
    },
    commands=(
        "sluicegate run choke2004",
        "sluicegate run choke2004 --set flows.0.count=40",
        'sluicegate run choke2004 --set queue.candidates=2 --set flows.1.rate="2 Mbit/s"',
        'sluicegate run choke2004 --set queue.draw=back --set flows.0.count=200 '
        '--set flows.0.access_rate="0.97 Mbit/s" --set flows.1.jitter=1',
        "sluicegate run choke2004 --set flows.0.count=100 --set flows.0.algorithm=vegas --set flows.0.vegas_alpha=3 "
        "--set flows.0.vegas_rules=paper "
        "--set flows.0.vegas_beta=3 --set flows.0.vegas_cut=0 --set queue.max_th=1020 --set queue.max_p=0.1 "
        '--set queue.limit=4000 --set network.rate="15 Mbit/s" --set network.access_rate="1 Gbit/s" '
        '--set flows.1.rate="18.75 Mbit/s"',
    ),
    choices=(
        Choice("min_th", "its value is missing in the text at hand, as all formulas are", "20 packets", "the paper's "
               "least number of flows, 8.08, with c = 125 packets/s and d = 100 ms leaves no other value"),
        Choice("max_th and p_max", "missing", "520 packets and 0.5", "the slope of RED is all that matters below "
               "max_th; checks that rest on it are references, not claims"),
        Choice("w_q, buffer, windows, access links", "not stated", "0.002, 1000 packets, 100 packets, 100 Mbit/s",
               "none of them limits anything; the access links space a flow's packets, which matters to Back CHOKe "
               "alone"),
        Choice("TCP NewReno", "ns-2 2.1b9's", "the profile `ns2`, NewReno", "an acknowledgement for each packet, a "
               "clock of 10 ms, least timeout 200 ms"),
        Choice("RED for Vegas", "missing", "20 and 1020 packets, p_max 0.1", "the queue of 100 flows with 3 packets "
               "each lies between these thresholds, and drops are few enough that α, not timeouts, rules the window"),
        Choice("α of Vegas", "missing; one number", "α = β = 3 packets, γ = 1; others in Figure 7", "UDP's share "
               "hardly depends on it, the queue does"),
        Choice("Rate of UDP in Figs. 8 and 9", "not stated", "10c", "as in Figure 5"),
        Choice("Place in the queue", "y in packets from the tail, up to the mean length", "parts of the length of each "
               "snapshot", "queue lengths vary, and tail and head are then at 0 and 1 in each snapshot; the packet at "
               "the very head is counted by itself"),
        Choice("ρ of Fig. 6: rates", "0.1c is named", "0.1c, c, 3c and 10c", "from flat to steep"),
        Choice("Times of snapshots", "every 100 ms", "every 97.3 ms", "UDP's gaps divide 100 ms, so that each "
               "snapshot would find UDP at the same point of its gap"),
        Choice("RED's gaps", "(44): r = p_b", "uniform on 1 … 1/p_b, which drops 2p_b/(1 + p_b)", "RED's default here; "
               "both are drawn as models"),
        Choice("TCP's law", "(43), without timeouts", "(43), and Padhye, Firoiu, Towsley and Kurose's with timeouts",
               "windows are about three packets, so that timeouts are frequent"),
    ),
)  # fmt: skip
