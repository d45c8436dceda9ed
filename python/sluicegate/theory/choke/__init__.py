"""CHOKe at equilibrium (Tang, Wang & Low 2004): the share of each flow, and the positions of packets in the queue.

The names are the paper's: N TCP flows and one UDP flow of rate x_0 share a link of c packets per second; d is the round
trip without queues, f(p, τ) the rate of a TCP flow, g(b, τ) the congestion-based dropping probability. Rates are in
packets per second, times in seconds, backlogs in packets, probabilities between 0 and 1.

The text at hand has lost its formulas; they were restored from its prose and proofs. Where this departs from what the
paper says:

- The equilibrium minimises a quadratic cost from a start (Sec. II-C). Here two nested bracketings, in ln b and ln τ,
  find it: no start is needed. Where g falls as b grows, its turning points are looked at, too, so that a second
  solution is seen.
- A1 to A4 are assumed. Here each failure that is seen has its error: more solutions than one (A1); a solution that is
  not a crossing (A2); f that is not finite or jumps (A3); g that is no probability, jumps, or, without `low` and `high`
  of its own, is not near 1 at 10⁹ packets (A4). A jump elsewhere than at the solution is not looked for; if g jumps
  and jumps back within 2 % of b, neither jump is seen.
- "Asymptotically UDP packets occupy close to half of the queue" (Theorem 5). What its proof gives by p_0 → 1 in (3) is
  h_0 → (1 − r)/(2 − r), h_1 → 1/(N(2 − r)) and p_1 → r + 1/N. One half is the case r ≪ 1, and exact in the approximate
  model, where r acts first.
- The approximate model has "(3)–(5)" for UDP beside the first approximation (Sec. III-C), which replaces (3) by (11)
  and (4) by (13). Here (11) and (13) are taken: only then is its share above the full model's, as Sec. V-A says;
  `choke_first` takes (3) and (4).
- The formula for the least number of flows (Sec. VI) is lost. Its delay "around b = min_th" is min_th/c here: that
  gives the printed 8.08 flows with min_th = 20. By (42) it would be min_th/2c, which would give 8.08 with min_th = 40.
- ρ_0(y) and v(y) are given by an ODE (Sec. IV-B). Along a packet's way it has a closed form, exact for any flows.
- Above max_th there is no model. Here it is refused, or with `Red(…, hold=True)` the queue stays at max_th and all
  flows lose alike before the comparison: the discipline drops every arrival there, as in CHOKe 1999's own runs.
- One UDP flow, identical TCP flows, one candidate. Here classes of flows and m candidates: see `model`, `approximate`.
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
    most_phi,
    worst_share,
)
from .candidates import Candidates, candidates_at, candidates_for
from .errors import AboveMaxThError, AssumptionError, ChokeError, InactiveError
from .laws import CongestionLaw, Limited, Padhye, RateLaw, Red, Reno, SimpleReno, Vegas, least_flows
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
    "CongestionLaw",
    "Equilibria",
    "Equilibrium",
    "FlowClass",
    "FlowState",
    "InactiveError",
    "Limited",
    "Padhye",
    "RateLaw",
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
