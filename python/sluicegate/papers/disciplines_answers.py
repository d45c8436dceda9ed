"""Which discipline should one use, and why: sentences made of the measured numbers and of nothing else."""

from __future__ import annotations

from collections.abc import Iterable

from ..quantities import significant as number
from ..stats import interval
from .disciplines_compare import (
    BURSTS,
    CRITERIA,
    FAIR,
    FIXED,
    HEARD,
    MIXED,
    NONE,
    QUEUED,
    STATE,
    UNRESPONSIVE,
    Compared,
    Criterion,
    excess,
    met,
    ranked,
    spread,
)

HELD, BLIND = 2 * FAIR, 0.9
"""Shares of the unresponsive flow up to which it is called held, and from which the discipline is called blind."""

SHORT = {"held": "share", "fair": "unfairness", "quick": "delay", "bursts": "bursts", "used": "unused"}
"""What the criteria are about, in a word."""

SLOW_LINK = (
    "CoDel and FQ-CoDel run with their RFCs' target of 5 ms in all three scenarios, though on the 1 Mbit/s of scenario "
    "1 a packet alone takes 8 ms; RFC 8290 (Sec. 5.2.2) asks for a target of one packet's time at least on such a "
    "link, so that their places there are those of a setting that their authors advise against."
)
"""What the ranking has to be read with."""

REMEMBERS = {
    NONE: "no memory of flows",
    FIXED: "a table of fixed size",
    QUEUED: "memory for the flows in the queue",
    HEARD: "memory for the flows heard of",
}


def which(all_: Compared) -> str:
    """The answer in a paragraph."""
    order = ranked(all_)
    first = order[0]
    sentences = [
        f"{first} meets {_count(all_, first)} of the {len(CRITERIA)} criteria with {_remembers(first)}: it "
        f"{_asks(met(all_, first))}" + _fails(all_, first) + "."
    ]
    for kind in (NONE, FIXED, QUEUED, HEARD):
        best = next((label for label in order if STATE[label][0] == kind), None)
        if best is None or best == first:
            continue
        sentences.append(
            f"With {REMEMBERS[kind]} the best is {best} ({_count(all_, best)} of {len(CRITERIA)}: "
            f"{_values(all_, best)})."
        )
    return " ".join((*sentences, _missed_by_one(all_), _shares(all_), _no_knobs(all_), SLOW_LINK)).replace("  ", " ")


def unresponsive(all_: Compared) -> str:
    """What happened to the flow that never slows down."""
    order = sorted(ranked(all_), key=lambda label: spread(all_, UNRESPONSIVE, label, "udp_share").mean)
    held = [label for label in order if spread(all_, UNRESPONSIVE, label, "udp_share").mean <= HELD]
    between = [label for label in order if HELD < spread(all_, UNRESPONSIVE, label, "udp_share").mean < BLIND]
    blind = [label for label in order if spread(all_, UNRESPONSIVE, label, "udp_share").mean >= BLIND]
    text = f"At most twice a fair share: {_listed(all_, held)}. " if held else "None holds it to twice a fair share. "
    if between:
        text += f"Less than all: {_listed(all_, between)}. "
    if blind:
        text += f"Nine tenths or more of the link, TCP is starved: {', '.join(blind)}. "
    quick = sorted(held, key=lambda label: spread(all_, UNRESPONSIVE, label, "tcp_delay_p99_ns").mean)
    if quick:
        text += f"Of those that hold it, {quick[0]} delays TCP least, {_quantity(all_, quick[0])}."
    return text.strip()


def mixed(all_: Compared) -> str:
    """Who shares evenly among near and far, and at what delay."""
    order = sorted(ranked(all_), key=lambda label: spread(all_, MIXED, label, "unfairness").mean)
    jain = {label: 1 - spread(all_, MIXED, label, "unfairness").mean for label in order}
    delay = {label: spread(all_, MIXED, label, "tcp_delay_p99_ns").mean / 1e6 for label in order}
    quick = sorted(order, key=delay.__getitem__)
    low = [label for label in reversed(order) if jain[label] < jain["drop_tail"]]
    return (
        f"Most even: {', '.join(f'{label} {jain[label]:.3f}' for label in order[:5])}. Drop Tail has "
        f"{jain['drop_tail']:.3f}; {len(low)} of {len(order)} have less than it, for a short queue leaves round trips "
        f"further apart: least {low[0] if low else order[-1]} with {jain[low[0] if low else order[-1]]:.3f}. Least "
        f"delay (99th percentile): {', '.join(f'{label} {delay[label]:.0f} ms' for label in quick[:5])}; "
        f"drop_tail {delay['drop_tail']:.0f} ms."
    )


def bursts(all_: Compared) -> str:
    """Who loses bursts."""
    excess = {label: 100 * spread(all_, BURSTS, label, "burst_excess").mean for label in ranked(all_)}
    loss = {label: 100 * spread(all_, BURSTS, label, "on_off_loss_ratio").mean for label in excess}
    order = sorted(excess, key=excess.__getitem__)
    mild = [label for label in order if excess[label] <= excess["drop_tail"] / 2]
    hard = [label for label in reversed(order) if excess[label] > excess["drop_tail"]]
    return (
        f"Drop Tail loses {loss['drop_tail']:.1f} % of the bursts, {excess['drop_tail']:.1f} points more than of "
        "smooth traffic. At most half of that: "
        f"{', '.join(f'{label} {excess[label]:.1f}' for label in mild) or 'none'}. "
        + (f"Harder on bursts than Drop Tail: {', '.join(f'{label} {excess[label]:.1f}' for label in hard)}." if hard
           else "None is harder on bursts than Drop Tail.")
    )  # fmt: skip


def cell(all_: Compared, criterion: Criterion, label: str) -> str:
    """A quantity with its half width, as tables show it."""
    found = spread(all_, criterion.workload, label, criterion.metric)
    if found.mean != found.mean:
        return "none"
    text = f"{criterion.factor * found.mean:.{criterion.decimals}f}"
    return text if found.count < 2 else f"{text} ± {criterion.factor * found.half_width:.{criterion.decimals}f}"


def _count(all_: Compared, label: str) -> int:
    return len(met(all_, label))


def _remembers(label: str) -> str:
    kind, what = STATE[label]
    return REMEMBERS[kind] + (f" ({what})" if what else "")


def _missed_by_one(all_: Compared) -> str:
    """Who would be first, or beside it, if one line were drawn elsewhere."""
    near = []
    for label in ranked(all_):
        missing = [criterion for criterion in CRITERIA if criterion.id not in met(all_, label)]
        if len(missing) == 1:
            (criterion,) = missing
            value = _one(all_, criterion, label)
            over = interval(excess(criterion, all_, label)).mean * criterion.factor
            near.append(f"{label} ({SHORT[criterion.id]} {value}, {over:.{criterion.decimals}f} above the line)")
    if not near:
        return ""
    return f"One criterion is missed by {', '.join(near)}; the lines are ours, and others would rank these otherwise."


def _asks(ids: Iterable[str]) -> str:
    chosen = set(ids)
    return "; ".join(criterion.asks for criterion in CRITERIA if criterion.id in chosen)


def _fails(all_: Compared, label: str) -> str:
    missing = [criterion for criterion in CRITERIA if criterion.id not in met(all_, label)]
    if not missing:
        return ""
    return ", but not: " + "; ".join(f"{criterion.asks} ({_one(all_, criterion, label)})" for criterion in missing)


def _one(all_: Compared, criterion: Criterion, label: str) -> str:
    value = criterion.factor * spread(all_, criterion.workload, label, criterion.metric).mean
    return f"{value:.{criterion.decimals}f} {criterion.unit}".strip()


def _values(all_: Compared, label: str) -> str:
    done = met(all_, label)
    return ", ".join(
        f"{SHORT[criterion.id]} {_one(all_, criterion, label)}{'' if criterion.id in done else ' (not enough)'}"
        for criterion in CRITERIA
    )


def _shares(all_: Compared) -> str:
    holds = [label for label in ranked(all_) if "held" in met(all_, label)]
    blind = [label for label in ranked(all_) if spread(all_, UNRESPONSIVE, label, "udp_share").mean >= BLIND]
    if not holds:
        return "None holds an unresponsive flow to its share."
    return (
        f"Where a flow may not slow down, take one of {_listed(all_, holds)}; {len(blind)} of {len(STATE)} leave it "
        f"nine tenths of the link or more."
    )


def _no_knobs(all_: Compared) -> str:
    quick = [label for label in ranked(all_) if STATE[label][0] == NONE and "quick" in met(all_, label)]
    if not quick:
        return ""
    best = min(quick, key=lambda label: spread(all_, MIXED, label, "tcp_delay_p99_ns").mean)
    return (
        f"If all flows react and only delay counts, {best} does it without any memory of flows: "
        f"{spread(all_, MIXED, best, 'tcp_delay_p99_ns').mean / 1e6:.0f} ms at the 99th percentile instead of Drop "
        f"Tail's {spread(all_, MIXED, 'drop_tail', 'tcp_delay_p99_ns').mean / 1e6:.0f} ms."
    )


def _listed(all_: Compared, labels: Iterable[str]) -> str:
    return ", ".join(f"{label} {100 * spread(all_, UNRESPONSIVE, label, 'udp_share').mean:.1f} %" for label in labels)


def _quantity(all_: Compared, label: str) -> str:
    return f"{number(spread(all_, UNRESPONSIVE, label, 'tcp_delay_p99_ns').mean / 1e6)} ms at the 99th percentile"
