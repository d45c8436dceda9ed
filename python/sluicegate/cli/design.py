"""What `sluicegate design red` prints."""

from __future__ import annotations

from ..design.red import RedDesign, Rule
from .common import number, print_table


def show(done: RedDesign, dev: str) -> None:
    """Print the values with their rules, the delays they mean, warnings, and the lines for a scenario, tc and ns-2."""
    print_table(["parameter", "value", "rule", "source"], [cells(rule) for rule in done.rules])
    queue = done.queue
    middle = (float(queue.min_th) + float(queue.max_th)) / 2
    print(
        f"queueing delay: {delay(done, float(queue.min_th))} at min_th, {delay(done, middle)} midway, "
        f"{delay(done, float(queue.max_th))} at max_th, {delay(done, float(queue.limit))} when the buffer is full"
    )
    for warning in done.warnings:
        print(f"warning: {warning}")
    print(f"\nin a scenario:\n\n{done.scenario()}")
    if done.linux is None:
        print(f"in Linux: not possible, {done.linux_refusal}")
    else:
        print(f"in Linux, on an interface that sends at this rate:\n\n{done.tc(dev)}\n")
        for remark in done.linux.remarks(queue.w_q, queue.max_p):
            print(f"  {remark}")
    print(f"\nin ns-2, before the links are made:\n\n{done.ns2()}", end="")


def cells(rule: Rule) -> list[str]:
    """A row of the table; bounds are indented below their parameter."""
    value = rule.value if isinstance(rule.value, str) else written(rule.value)
    if rule.sign == "=":
        return [rule.name, value, rule.why, rule.source]
    return ["", f"{rule.sign} {value}", rule.why, rule.source]


def written(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.3g}"


def delay(done: RedDesign, packets: float) -> str:
    return f"{number(done.delay_s(packets), 1e-3)} ms"
