"""Fig. 7: TCP Vegas in place of NewReno."""

from __future__ import annotations

from collections.abc import Iterator

from ...reproduce import Check, Runs, above, below, claim, figure, number, reference, within
from .charts import Compared
from .fig04_05 import POINTS, REST, THEOREM_1, load, of, share_matches
from .laws import laws
from .models import HALF_MATCH, MATCH, VEGAS_STYLES, farthest, off
from .network import Network, Traffic

RATES = (0.1, 0.3, 0.7, 1.0, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0)
ALPHA = 3.0
"""Packets that a Vegas flow keeps in the queue: α = β, lost with the paper's formulas."""

VEGAS = Network(tcp=((100, 100.0),), mbps=15, alpha=ALPHA)
vegas = Traffic(VEGAS, x0=RATES)
alphas = Traffic(VEGAS, alpha=[1.0, 2.0, 5.0, 10.0], x0=[1.25])
"""Other values of α where UDP's share is near its greatest."""


@figure(7, "TCP Vegas: effect of the UDP rate", source="Sec. V-C, Fig. 7",
        chart=Compared("x0", of("b", "share"), lines={"share": THEOREM_1}, styles=VEGAS_STYLES, runs="vegas"),
        vegas=vegas, newreno=load, alphas=alphas)  # fmt: skip
def fig7(vegas: Runs, newreno: Runs, alphas: Runs) -> Iterator[Check]:
    """100 Vegas transfers on 15 Mbit/s, 20 s, of which the first 5 are not measured; α = β = 3. Means over seeds with
    95 % intervals. Full model: x = α/τ, with (44) and with RED's drops as it spaces them. Approximate model:
    Sec. III-C."""
    shares = vegas.over("x0", "share")
    yield claim("the behaviour is that of Fig. 4: UDP's share tends to 0", shares.at(10.0), below(5))
    nearer = shares.at(1.25) - newreno.over("x0", "share").at(1.25)
    yield reference("the match with Theorem 1 is better than with NewReno: both shares are below its 26.9 %",
                    nearer.as_("Vegas's share at 1.25c less NewReno's", POINTS), above(0),
                    id="nearer-theorem-1")  # fmt: skip
    longer = [vegas.at(x0=x0)["b"] - newreno.at(x0=x0)["b"] for x0 in RATES]
    least = min(longer, key=lambda each: each.mean - each.spread.margin)
    yield reference("the queue is longer than with NewReno", least.as_("how much longer, where it is least"), above(0),
                    id="longer-queue")  # fmt: skip
    yield reference("a smaller greatest share than Theorem 1", shares.peak(), below(THEOREM_1[0]))
    yield share_matches(vegas, "x0", "simulation and full model match, with (44)")
    rest = reference(REST.format("Vegas's"), farthest(laws(vegas, "x0")["rest_b"]), HALF_MATCH, id="rest")
    for model, words, why in (
        ("full", "(44)", "and (44) gives only half of RED's drops, whose gaps are uniform here."),
        ("refined", "RED's drops as it spaces them", "and a comparison drops fewer of their packets than (5) says. "
         "With both as measured the other equations give the queue."),
    ):  # fmt: skip
        yield reference(
            f"simulation and full model match, with {words}: the queue", off(vegas, "x0", "b", model), MATCH,
            id=f"queue-{model}", evidence=rest, because="The flows send less than α/τ at the measured τ, most so at "
            f"10c, where losses keep their windows below what Vegas would have; {why}",
        )  # fmt: skip
    yield rest
    means = [each.mean for each in (shares.at(1.25), *alphas.over("alpha", "share"))]
    spread = number(max(means) - min(means), POINTS,
                    "UDP's share at 1.25c with α from 1 to 10: greatest less least")  # fmt: skip
    yield reference("the choice of α, whose value the text has lost, matters little to UDP's share", spread,
                    within(None, 5, "chosen here"), source="a choice of Sluicegate's", id="alpha")  # fmt: skip
