"""CHOKe at equilibrium (Tang, Wang & Low 2004): who gets how much of the link, and where in the queue the packets are.

The names are the paper's: N TCP flows and one UDP flow of rate x_0 share a link of c packets per second; d is the round
trip without queues, f(p, τ) the rate of a TCP flow, g(b, τ) the congestion-based dropping probability. Rates are in
packets per second, times in seconds, backlogs in packets, probabilities between 0 and 1.

The text at hand has lost its formulas; they were restored from its prose and proofs. Where this departs from it:

| what the paper says | what we do | why |
|---|---|---|
| the equilibrium minimises a quadratic cost from a start (Sec. II-C) | two nested bracketings, in ln b and ln τ | no start is needed, and a second solution would be seen |
| A1 to A4 are assumed | checked where they can be: each failure has its error | a number without its assumptions is no answer |
| "asymptotically UDP packets occupy close to half of the queue" (Theorem 5) | h_0 → (1 − r)/(2 − r), h_1 → 1/(N(2 − r)), p_1 → r + 1/N | what its proof gives: p_0 → 1 in (3); 1/2 is the case r ≪ 1, and exact in the approximate model |
| the approximate model has (3)–(5) for UDP and the first approximation (Sec. III-C) | (11) and (13) for them; `choke_first` takes (3) and (4) | the first approximation replaces (3) by (11), and only so is its share above the full model's, as Sec. V-A says |
| "around b = min_th the delay is roughly …" (Sec. VI; lost) | min_th/c | gives the printed 8.08 with min_th = 20; min_th/2c, by (42), would with 40 |
| ρ_0(y) and v(y) by an ODE (Sec. IV-B) | its closed form along a packet's way | exact, and holds for any number of flows |
| above max_th: nothing | refused; with `hold` the queue stays at max_th and all flows lose alike before the comparison | the discipline drops all arrivals there, and CHOKe 1999's scenarios live there |
| one UDP flow, like TCP flows, one candidate | several classes of flows, m candidates | Sec. VII: "it would be interesting" |
"""

from .approximate import (
    PEAK_H0,
    PEAK_LOAD,
    PEAK_SHARE,
    Approximations,
    Asymptotic,
    approximate,
    asymptotic,
    closed_curve,
    closed_share,
    least_active_flows,
    least_flows,
    most_phi,
    worst_share,
)
from .candidates import Candidates, candidates_at, candidates_for
from .errors import AboveMaxThError, AssumptionError, ChokeError, InactiveError
from .laws import Padhye, Red, Reno, SimpleReno, Vegas
from .model import Equilibria, Equilibrium, FlowState, equilibria, equilibria_of, equilibrium, equilibrium_of
from .solver import FlowClass
from .space import Space, space

__all__ = [
    "PEAK_H0",
    "PEAK_LOAD",
    "PEAK_SHARE",
    "AboveMaxThError",
    "Approximations",
    "AssumptionError",
    "Asymptotic",
    "Candidates",
    "ChokeError",
    "Equilibria",
    "Equilibrium",
    "FlowClass",
    "FlowState",
    "InactiveError",
    "Padhye",
    "Red",
    "Reno",
    "SimpleReno",
    "Space",
    "Vegas",
    "approximate",
    "asymptotic",
    "candidates_at",
    "candidates_for",
    "closed_curve",
    "closed_share",
    "equilibria",
    "equilibria_of",
    "equilibrium",
    "equilibrium_of",
    "least_active_flows",
    "least_flows",
    "most_phi",
    "space",
    "worst_share",
]
