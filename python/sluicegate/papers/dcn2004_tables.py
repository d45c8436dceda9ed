"""Tables 1 and 2: what they print, and the checks of their cells.

The text of the paper lost the layout of some cells: those of PI with ECN and of DCN in the columns of requests and
throughput may be swapped, and seven numbers of Table 2 stand alone. They are Drop Tail's and PI with ECN's by their
values; Drop Tail's one loss is then that of the direction with more load.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..stats import interval
from .checks import Check, printed
from .dcn2004_cases import LOADS
from .dcn2004_points import Results


@dataclass(frozen=True)
class Row:
    """A scheme's row of Table 1: for each load the loss (%), completed requests (millions) and throughput (Mbit/s)."""

    key: str
    loss: tuple[float, ...]
    completed: tuple[float, ...]
    throughput: tuple[float, ...]


TABLE_1 = (
    Row("uncongested", (0, 0, 0), (15.0, 16.2, 17.3), (91.3, 98.2, 105.9)),
    Row("drop-tail", (1.8, 6.0, 8.8), (14.6, 15.1, 15.0), (89.9, 92.0, 92.4)),
    Row("pi", (1.3, 3.9, 6.5), (14.4, 15.1, 15.1), (87.9, 89.3, 89.9)),
    Row("pi-ecn", (0.3, 1.8, 2.5), (14.6, 14.9, 15.0), (88.6, 89.4, 89.5)),
    Row("dcn", (0.95, 2.3, 3.0), (14.5, 14.9, 15.3), (86.1, 88.6, 90.5)),
    Row("afd", (0.5, 6.1, 8.9), (14.7, 14.5, 14.6), (88.3, 87.6, 87.8)),
    Row("afd-ecn", (0.5, 6.2, 9.2), (14.6, 14.5, 14.4), (88.3, 87.9, 87.9)),
    Row("rio-ps", (2.1, 5.3, 8.2), (14.6, 15.0, 15.3), (88.8, 91.2, 91.9)),
    Row("rio-ps-ecn", (1.3, 4.7, 7.9), (14.6, 15.2, 15.3), (87.9, 91.0, 91.9)),
)

PAPER_S = 5400.0
"""The paper's measured time, 90 minutes: completed requests are scaled to it."""


@dataclass(frozen=True)
class MixRow:
    """A scheme's row of Table 2: exchanges (millions), loss (%) and throughput (Mbit/s) forward and reverse."""

    key: str
    completed: float | None
    loss: tuple[float | None, float | None]
    throughput: tuple[float, float]

    def numbers(self) -> dict[str, float | None]:
        """Its cells by the name of a column, as `mix_measured` takes it; None where the paper prints nothing."""
        return {
            "completed": self.completed,
            "forward_loss": self.loss[0],
            "reverse_loss": self.loss[1],
            "forward_throughput": self.throughput[0],
            "reverse_throughput": self.throughput[1],
        }


TABLE_2 = (
    MixRow("uncongested", 2.75, (0.0, 0.0), (105.3, 91.2)),
    MixRow("drop-tail", None, (3.7, None), (90.8, 85.7)),
    MixRow("pi-ecn", None, (0.2, 0.1), (88.5, 84.4)),
    MixRow("dcn", None, (None, None), (89.4, 83.3)),
    MixRow("afd-ecn", 2.67, (4.5, 0.7), (87.5, 80.2)),
    MixRow("rio-ps-ecn", None, (None, None), (91.0, 83.5)),
)

COLUMNS = {"loss": "% of packets lost", "completed": "million requests in 90 minutes", "throughput": "Mbit/s"}


def measured(results: Results, case: str, column: str) -> list[float]:
    """A column of Table 1 for each seed, in the unit of the table."""
    if column == "loss":
        return [100 * value for value in results.each(case, "loss")]
    if column == "throughput":
        return [100 * value for value in results.each(case, "utilisation")]
    return [value * PAPER_S / 1e6 for value in results.each(case, "completed")]


def cells(results: Results) -> list[Check]:
    """A check for each cell of both tables, all of them `shown`: traffic, hosts and parameters are left open."""
    result = []
    for row in TABLE_1:
        for column, unit in COLUMNS.items():
            for load, value in zip(LOADS, getattr(row, column), strict=True):
                spread = interval(measured(results, f"{row.key}-{load}", column))
                result.append(
                    Check(
                        f"table1-{row.key}-{column}-{load}", "Table 1", "shown", f"{value:g} {unit}", spread.mean, unit,
                        printed(value, 0.1 if value != 0.95 else 0.01, spread),
                    )
                )  # fmt: skip
    for mix in TABLE_2:
        for name, value in mix.numbers().items():
            if value is not None:
                spread = interval(mix_measured(results, mix.key, name))
                unit = "million exchanges in 90 minutes" if name == "completed" else COLUMNS[name.split("_")[1]]
                result.append(
                    Check(
                        f"table2-{mix.key}-{name.replace('_', '-')}", "Table 2", "shown", f"{value:g} {unit}",
                        spread.mean, unit, printed(value, 0.01 if name == "completed" else 0.1, spread),
                    )
                )  # fmt: skip
    return result


def mix_measured(results: Results, scheme: str, name: str) -> list[float]:
    """A column of Table 2 for each seed: `completed`, or `loss` or `throughput` after `forward_` or `reverse_`."""
    case = f"{scheme}-mix"
    if name == "completed":
        return measured(results, case, name)
    return [100 * value for value in results.each(case, name.replace("throughput", "utilisation"))]


CELLS = (
    *(f"table1-{row.key}-{column}-{load}" for row in TABLE_1 for column in COLUMNS for load in LOADS),
    *(
        f"table2-{row.key}-{name.replace('_', '-')}"
        for row in TABLE_2
        for name, value in row.numbers().items()
        if value is not None
    ),
)
"""The ids of the checks of `cells`."""
