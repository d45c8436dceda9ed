"""What `sluicegate run --with-theory` prints below its own table."""

from __future__ import annotations

from ..theory.choke_overlay import Overlay
from .common import number, print_table

SCALES = {"bit/s": ("kbit/s", 1e3), "1": ("%", 0.01), "packets": ("packets", 1.0), "s": ("ms", 1e-3)}
"""How a quantity is printed."""


def show(done: Overlay) -> None:
    """Print what was measured beside what each law gives, and where the model does not hold."""
    rows = []
    for quantity in done.quantities:
        unit, scale = SCALES[quantity.unit]
        whose = "" if quantity.group is None else done.groups[quantity.group]
        values = [quantity.measured, *(quantity.theory[law] for law in done.laws)]
        rows.append([whose, f"{quantity.name} {unit}", *(number(value, scale) for value in values)])
    print_table(["flows", "", "measured", *(f"theory: {name}" for name in done.laws.values())], rows)
    for law, name in done.laws.items():
        if refusal := done.refusals[law]:
            print(f"warning: theory, {name}: {refusal}")
        elif held := done.held[law]:
            print(
                f"warning: theory, {name}: the queue is held at max_th, where {number(held, 0.01)} % of arrivals are "
                f"dropped before any comparison; the paper's model ends at max_th"
            )
    for warning in done.warnings:
        print(f"warning: theory: {warning}")
