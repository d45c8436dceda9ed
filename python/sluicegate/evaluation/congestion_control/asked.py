"""All that RFC 5033 and RFC 5166 ask for, and what is done of it, as for RFC 7928 (`rfc7928.asked`)."""

from __future__ import annotations

from ..suite import asked_table

WEIGHTS = {
    "1": "minimum for deployment (Sec. 4)",
    "2": "must be performed (Sec. 4)",
    "3": "minimum for deployment (Sec. 4)",
    "4": "minimum for deployment (Sec. 4)",
    "5": "must be performed (Sec. 4)",
    "6": "must be performed (Sec. 4)",
    "7": "must be performed (Sec. 4)",
}
"""RFC 5033, Sec. 4, by guideline."""

TABLE = """
5033 (0) | should | explain deviations from the principles of RFC 2914 | text | the table of deviations of each congestion control, in its module
5033 (1) | should | compete with standard congestion control | done | `against-reno`, `against-cubic`, `short-flows`, `call`, `l4s`
5033 (2) | should | wireless links | done | `random-loss`, `burst-loss`, `lte`, `wifi`
5033 (2) | should | paths with long delays and high bandwidth-delay products | done | `round-trip`, `rate-1g`, `rate-10g`
5033 (2) | should | packet corruption and reordering | done | `random-loss`, `burst-loss`, `reordering`
5033 (2) | should | significantly slow links | done | `rate-1m`, `collapse`
5033 (2) | may | multipath routing within a connection | partly | `reordering`; all packets take one path
5033 (2) | may | with explicit feedback: queues below IP, tunnels | not done |
5033 (3) | should | a range of bandwidths and round trips | done | `rate-1m`, `rate-10m`, `rate-100m`, `rate-1g`, `rate-10g`, `round-trip`
5033 (3) | should | levels of traffic on the reverse path | partly | `reverse-traffic`, one level
5033 (3) | should | levels of statistical multiplexing | done | `many`, `collapse`
5033 (3) | should | different queueing mechanisms, RED and Drop-Tail especially | done | `queues`, `ecn`, `l4s`, `policer`
5033 (3) | should | characterize where it does not perform well | done | the report's tables: each number beside Reno's and CUBIC's
5033 (4) | should | full backoff, or a stop above some drop rate | done | `collapse`
5033 (5) | should | how bandwidth is shared among flows of the same kind | done | `many`, `convergence`, `round-trip-fairness`
5033 (6) | should | misbehaving senders, receivers, routers | not done | receivers that lie are not simulated
5033 (6) | should | outside attackers | partly | `pulses`
5033 (7) | should | sudden congestion | done | `sudden-congestion`
5033 (7) | should | a routing change or a mobility event | partly | `capacity`, `outage`, `lte`; the round trip does not change in a run
5033 (8) | should | incremental deployment | text | all controls here change only the sender; DCTCP and Prague also need their receivers
5166 2.1.1 | may | throughput: utilization, transfer times, distribution over flows | done | every scenario; transfer times in `short-flows` and `application-limited`
5166 2.1.2 | may | queueing delay and per-packet delay, with the tail | done | mean, p50, p95, p99 of each group; transfers' completion
5166 2.1.3 | may | loss rates, and loss event rates | done | every scenario; the table `transfers` has corruption and drops separately
5166 2.2.1 | may | response times to changes | done | `capacity`, `outage`, `sudden-congestion`, by phase and over time
5166 2.2.1 | may | smoothness, responsiveness, aggressiveness in a deterministic environment | not done |
5166 2.2.2 | may | coefficient of variation of rates, over several time scales | partly | over a second: `convergence`
5166 2.2.2 | may | synchronization of losses | done | every scenario with several flows
5166 2.3.1 | may | Jain's index; epsilon-fairness, product measure | partly | Jain's index; the others follow from the table `transfers`
5166 2.3.3 | may | delta-fair convergence time | done | `convergence`
5166 2.3.3 | may | fairness and packet size, number of congested links | not done |
5166 2.4 | may | the goodput ratio; energy | partly | data sent twice in vain; no energy
5166 2.5 | may | failures and misbehaving users | not done |
5166 2.7 | may | less-than-best-effort transport | partly | `ledbat` is measured like the others
5166 2.8 | may | user-based metrics | partly | a call's delay and loss; `sluicegate run` has responsiveness in round trips per minute
"""  # noqa: E501

ASKED = asked_table(TABLE)
