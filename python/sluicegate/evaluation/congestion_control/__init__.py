"""Congestion control as a suite: the guidelines of RFC 5033 (Floyd & Allman 2007) as scenarios, measured as RFC 5166
(Floyd 2008) has it. RFC 9743 (2025) takes the place of RFC 5033; its text was not at hand."""

from __future__ import annotations

from ...reproduce import Settings
from ..samples import PERIOD_S
from ..suite import Suite
from . import environments, others
from .asked import ASKED, WEIGHTS

SUITE = Suite(
    name="congestion-control",
    title="RFC 5033: evaluation of congestion control",
    citation="S. Floyd, M. Allman: Specifying New Congestion Control Algorithms, RFC 5033, 2007; S. Floyd: Metrics for "
    "the Evaluation of Congestion Control Mechanisms, RFC 5166, 2008. RFC 9743 (2025), which replaces RFC 5033, was "
    "not at hand.",
    sections={
        "1": "impact on standard TCP and other traffic",
        "2": "difficult environments",
        "3": "a range of environments",
        "4": "protection against congestion collapse",
        "5": "fairness within the congestion control",
        "6": "misbehaving nodes and attackers",
        "7": "sudden and transient events",
    },
    scenarios=tuple(sorted((*environments.SCENARIOS, *others.SCENARIOS), key=lambda each: each.section)),
    asks=ASKED,
    weights=WEIGHTS,
    choices=(
        ("Hosts", "left open", "Linux's, with SACK, RACK, tail-loss probes and automatic window tuning; one "
         "acknowledgement for two packets", "hosts of today; only the congestion control changes"),
        ("Bottleneck (3)", "a range of bandwidths and round trips", "1 Mbit/s to 10 Gbit/s and 5 to 500 ms; by "
         "default 50 Mbit/s and 40 ms", "the default is a home line of today and a server in the same country"),
        ("Buffers (3)", "left open", "Drop Tail of one bandwidth-delay product; 0.1 to 10 products", "what routers "
         "have, by default and at the extremes"),
        ("Disciplines (3)", "RED and Drop Tail especially", "RED, Drop Tail, CoDel, FQ-CoDel, CAKE, PIE and DualPI2, "
         "with their defaults; only RED's thresholds are set for the link: they lie around a quarter of the "
         "bandwidth-delay product", "these are in use today"),
        ("Standard TCP (1)", "standard IETF congestion control", "Linux's Reno and CUBIC", "RFC 5681 and RFC 9438"),
        ("ECN", "", "only in `ecn` and `l4s`, but DCTCP and Prague always use it; without marks DCTCP's window is "
         "Reno's", "few paths mark"),
        ("Time", "left open", "half as long at 1 Gbit/s, a quarter as long at 10 Gbit/s", "simulating packets takes "
         "time"),
    ),
    settings=Settings(seeds=(1, 2, 3, 4, 5), duration_s=80, warmup_s=20, sample_s=0.1),
    quick=Settings(seeds=(1, 2, 3), duration_s=40, warmup_s=10, sample_s=0.1),
    periods=f"every {PERIOD_S:g} s, 25 base round trips of 40 ms",
    subject="controller",
    references=("reno", "cubic"),
    part="guideline",
)  # fmt: skip
