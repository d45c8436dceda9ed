"""Goals: what a person wants of a link for the groups of flows that share it, in words.

    voip p99 below 30 ms
    tcp utilisation above 95 %
    web response p50 least
    web response p50 least within 10 % or 2 ms

First comes the name of a group or of a link, or nothing for all flows and the first link under study; then the
quantity; then a bound, or `least` or `most`, which asks for as little or as much as can be had. A value that differs
from the best by no more than `within` allows is as good as the best. It allows a part of the best value or an amount,
whichever is larger: `TOLERANCE` and `GRAIN` unless the goal says otherwise; a bound always uses these. Amounts of a
percentage are in points; with `within 0 %` all values differ that the intervals tell apart.

| quantity | of |
|---|---|
| `throughput`, `throughput per flow` | a group; `throughput` of all flows too |
| `utilisation` | a link; of a group its throughput over the rate of the slowest link under study that it crosses |
| `loss` | a group, or a link |
| `delay` (mean), `p50`, `p95`, `p99` | one-way delay of a group; `delay` and `p99` of a link are its queueing delay |
| `response p50`, `response p99` | times from request to response of a group of users or connections |
| `completion p50`, `completion p95` | times of whole transfers of a group |
| `jain` | all flows |
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from .. import _core
from ..quantities import NUMBER, did_you_mean, plus_minus, quantity
from ..traffic.groups import COMING_AND_GOING
from ..traffic.paths import Resolved, paths, places
from .measures import GROUP, LINK, TOTAL, Metric, column

SENSES: dict[str, Literal["below", "above"]] = {
    "below": "below", "under": "below", "at most": "below", "<": "below", "<=": "below", "≤": "below",
    "above": "above", "over": "above", "at least": "above", ">": "above", ">=": "above", "≥": "above",
}  # fmt: skip
"""The words for a bound. A value equal to the bound meets it, with "<" too: measured values are real numbers."""

OF_GROUPS = {
    "throughput": "throughput", "throughput per flow": "per_flow", "per flow": "per_flow", "loss": "loss",
    "delay": "delay", "mean delay": "delay", "p50": "p50", "median delay": "p50", "delay p50": "p50", "p95": "p95",
    "delay p95": "p95", "p99": "p99", "delay p99": "p99", "response p50": "response_p50",
    "response p99": "response_p99", "completion p50": "completion_p50", "completion p95": "completion_p95",
    "utilisation": "throughput", "utilization": "throughput",
}  # fmt: skip
"""Quantities of a group as a person names them."""

OF_ALL = {
    "throughput": TOTAL["throughput"], "jain": TOTAL["jain_all"], "loss": LINK["link_loss"],
    "delay": LINK["queueing_delay"], "queueing delay": LINK["queueing_delay"], "p99": LINK["queueing_delay_p99"],
    "queueing delay p99": LINK["queueing_delay_p99"], "utilisation": LINK["utilisation"],
    "utilization": LINK["utilisation"],
}  # fmt: skip
"""Quantities of all flows and of the link as a person names them."""

TOLERANCE = 5
"""Per cent of the best value: what is as good as the best, unless a goal of `least` or `most` says otherwise. Of two
waits of a second a person does not notice which is shorter by 50 ms."""

GRAIN = {"ms": "1 ms", "%": "0.1 points"}
"""The least such tolerance by unit: 5 % of a best value near zero would be almost nothing. Screens and speech coders
advance in steps of 7 to 20 ms, so that 1 ms moves neither; 0.1 points of loss are one packet of a call in 20 s, and a
tenth of what is heard (ITU-T G.113). Rates and Jain's index have none: their best value is not near zero."""


Error = Callable[[str], _core.ScenarioError]


@dataclass(frozen=True)
class Goal:
    """One goal.

    `text`: as it was said, with the tolerance that holds. `group`: of flows, None for all and the link. `metric` and
    `column`: what is measured, and the column of `Comparison.runs`. `sense` and `bound`: the bound in the column's
    unit; None where as little or as much as can be had is asked for. `shown`: unit and factor in which values are
    shown. `part` of the best value and `grain`, in the column's unit: the tolerance.
    """

    text: str
    group: str | None
    metric: Metric
    column: str
    bound: float | None
    sense: Literal["below", "above"]
    shown: tuple[str, float]
    part: float
    grain: float

    def within(self, best: float) -> float:
        """By how much a value may miss the best and be as good, in the column's unit."""
        return max(self.part * abs(best), self.grain)

    def kept(self, row: dict[str, Any]) -> bool | None:
        """Whether a discipline keeps it, from the row of its mean; None where the interval does not tell. What has no
        value, as the delay of packets of which none came, does not keep it."""
        if row["mean"] is None:
            return False
        if self.bound is None:
            return True
        low, high = (row["mean"] if row[end] is None else row[end] for end in ("low", "high"))
        sure, lost = (high <= self.bound, low > self.bound) if self.sense == "below" else (
            low >= self.bound, high < self.bound)  # fmt: skip
        return True if sure else False if lost else None

    def value(self, row: dict[str, Any]) -> str:
        """A mean with its interval, in the unit shown."""
        unit = self.shown[0]
        return self.number(row) if row["mean"] is None else f"{self.number(row)}{unit and ' '}{unit}"

    def number(self, row: dict[str, Any]) -> str:
        """The same without the unit."""
        unit, factor = self.shown
        if row["mean"] is None:
            return "–"
        digits = 1 if unit == "%" and self.metric.unit == "bit/s" else self.metric.decimals
        half = None if row["half_width"] is None else row["half_width"] * factor
        return plus_minus(row["mean"] * factor, half, digits)


@dataclass(frozen=True)
class Known:
    """What goals may be about. `groups`: by name the rate in bit/s of the slowest link under study that each crosses;
    `responds` and `ends`: the groups with response times, and with transfers that end. `links`: names and rates of the
    links under study."""

    groups: dict[str, float]
    responds: frozenset[str]
    ends: frozenset[str]
    links: tuple[tuple[str, int], ...]


def known(resolved: Resolved) -> Known:
    """That of a resolved scenario."""
    links = tuple((place.name, place.rate_bps) for place in places(resolved))
    groups: dict[str, float] = {}
    for flow, way in zip(resolved["flows"], paths(resolved), strict=True):
        crossed = [place.rate_bps for place in way.places] or [links[0][1] if links else way.shared_bps]
        groups[flow["name"]] = min(groups.get(flow["name"], float("inf")), *crossed)
    kinds = {name: {flow["kind"] for flow in resolved["flows"] if flow["name"] == name} for name in groups}
    responds = frozenset(name for name, of in kinds.items() if of.intersection(COMING_AND_GOING))
    sized = frozenset(flow["name"] for flow in resolved["flows"] if flow.get("size") is not None or "messages" in flow)
    return Known(groups, responds, sized, links)


def goals(texts: Sequence[str], about: Known) -> list[Goal]:
    """The goals that these texts state. Raises `ScenarioError` that says which text is wrong, and what is nearest."""
    return [_goal(text, about) for text in texts]


def _goal(text: str, about: Known) -> Goal:
    def error(rule: str) -> _core.ScenarioError:
        return _core.ScenarioError(f'goal "{text}": {rule}')

    if not about.links:
        raise error("no link is under study")
    group, link, rest = _subject(text, about, error)
    extreme = re.fullmatch(r"(.+?) (least|most)(?: within\b(.*))?", rest)
    bound = re.fullmatch(rf"(.+?) ({'|'.join(map(re.escape, sorted(SENSES, key=len, reverse=True)))}) (.+)", rest)
    if bound is None and extreme is None:
        if group is not None and rest not in OF_GROUPS:
            raise error(f"names no quantity of {group}: use one of {', '.join(OF_GROUPS)}")
        raise error('must be a quantity and a bound, such as "voip p99 below 30 ms" or "web response p50 least"')
    if bound is not None and re.search(r"(^| )within ", bound[3]):
        raise error('a bound has no tolerance of its own: only least and most are "within" something')
    name = bound[1] if bound is not None else extreme[1] if extreme is not None else ""
    rate: float = dict(about.links)[link]
    if group is not None:
        if name not in OF_GROUPS:
            raise error(f"no such quantity of a group: {name!r}{did_you_mean(name, OF_GROUPS)}")
        metric = GROUP[OF_GROUPS[name]]
        if metric.word.startswith("response") and group not in about.responds:
            raise error(f"{group} makes no requests: only groups of kind http and connections have response times")
        if metric.word.startswith("completion") and group not in about.ends:
            raise error(f"the transfers of {group} have no end: give them a size")
        where, rate = column(group, metric), about.groups[group]
    else:
        if name not in OF_ALL:
            first, _, others = name.partition(" ")
            if others in OF_GROUPS:
                raise error(f"no such group: {first!r}{did_you_mean(first, about.groups)}")
            raise error(f"no such group or quantity: {name!r}{did_you_mean(name, [*about.groups, *OF_ALL])}")
        metric = OF_ALL[name]
        where = metric.name if metric in TOTAL.values() or len(about.links) == 1 else f"{link}.{metric.name}"
    if group is not None and name.startswith("utili"):
        shown = ("%", 100 / rate)
    elif metric.unit == "bit/s":
        shown = _rate_unit(bound[3] if bound is not None else "", rate)
    else:
        shown = (metric.unit, metric.factor)
    usual = " or ".join(filter(None, (f"{TOLERANCE} %", GRAIN.get(shown[0]))))
    if bound is None:
        assert extreme is not None
        sense: Literal["below", "above"] = "below" if extreme[2] == "least" else "above"
        text, within = (f"{text} within {usual}", usual) if extreme[3] is None else (text, extreme[3].strip())
        part, grain = _tolerance(within, shown, metric, rate, error)
        return Goal(text, group, metric, where, None, sense, shown, part, grain)
    limit = _bound(bound[3], shown[0], metric, rate, error)
    tolerance = _tolerance(usual, shown, metric, rate, error)
    return Goal(text, group, metric, where, limit, SENSES[bound[2]], shown, *tolerance)


def _subject(text: str, about: Known, error: Error) -> tuple[str | None, str, str]:
    """The group that a goal is about, None for all; the link, the first unless another is named; and what it says."""
    first = about.links[0][0]
    for name in sorted({*about.groups, *(link for link, _ in about.links)}, key=len, reverse=True):
        stripped = text.strip()
        if stripped == name or stripped.startswith(f"{name} "):
            rest = " ".join(stripped[len(name) :].split())
            return (name, first, rest) if name in about.groups else (None, name, rest)
    return None, first, " ".join(text.split())


def _rate_unit(bound: str, rate: float) -> tuple[str, float]:
    """The unit in which a rate is shown, and its factor: that of the bound, if it has one of these."""
    for unit, factor in (("Gbit/s", 1e-9), ("Mbit/s", 1e-6), ("kbit/s", 1e-3)):
        if bound.endswith(unit):
            return unit, factor
    return ("Mbit/s", 1e-6) if rate >= 1e7 else ("kbit/s", 1e-3)


def _tolerance(
    text: str, shown: tuple[str, float], metric: Metric, rate: float, error: Error
) -> tuple[float, float]:  # fmt: skip
    """A tolerance: a part of the best value, and an amount in the column's unit."""
    unit, factor = shown
    amounts = text.split(" or ")
    parts = [amount for amount in amounts if amount.endswith("%")]
    others = [amount for amount in amounts if not amount.endswith("%")]
    points = re.fullmatch(rf"({NUMBER}) ?points?", others[0]) if others and unit == "%" else None
    usual = f"within {TOLERANCE} % or {GRAIN.get(unit, f'0.1 {unit}'.rstrip())}"
    rule = f'must be a part of the best value, an amount that is not negative, or both, such as "{usual}"'
    wrong = error(f'"{f"within {text}".strip()}" {rule}')
    if len(parts) > 1 or len(others) > 1 or (others and unit == "%" and points is None):
        raise wrong
    part = _bound(parts[0], "%", GROUP["loss"], rate, error) if parts else 0.0
    grain = (
        float(points[1]) / factor
        if points
        else _bound(others[0], unit, metric, rate, lambda _: wrong)
        if others
        else 0.0
    )
    if grain < 0:
        raise wrong
    return part, grain


def _bound(text: str, unit: str, metric: Metric, rate: float, error: Error) -> float:
    """A bound in the column's unit."""
    if unit == "%":
        found = re.fullmatch(rf"({NUMBER}) ?%", text)
        if found is None or not 0 <= float(found[1]) <= 100:
            raise error(f"{text!r} must be a percentage, such as 95 %")
        return float(found[1]) / 100 * (rate if metric.unit == "bit/s" else 1)
    if not unit:
        if re.fullmatch(NUMBER, text) is None:
            raise error(f"{text!r} must be a number, such as 0.9")
        return float(text)
    try:
        return quantity("bound", text, "network.delay" if unit == "ms" else "network.rate")
    except _core.ScenarioError as problem:
        raise error(str(problem).partition(": ")[2] or str(problem)) from None
