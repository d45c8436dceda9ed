"""Tables 1 and 2, cell by cell.

The text of the paper lost the layout of some cells: those of PI with ECN and of DCN in the columns of requests and
throughput may be swapped, and seven numbers of Table 2 stand outside its rows. Their values assign them to Drop Tail
and to PI with ECN. Drop Tail then has only one number for the loss: that of the direction with more
load.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure as Drawn

from ...plot import style as plot
from ...reproduce import Check, Drawing, Quantity, Runs, below, claim, figure, printed, reference
from ...reproduce.charts import PRINTED
from .network import ALL, GENERAL, GENERAL_TCP, LOADS, PAPER_MEASURED_S
from .schemes import AFD, AFD_ECN, DCN, DROP_TAIL, PI, PI_ECN, RIO_PS, RIO_PS_ECN, UNCONGESTED, Scheme

Cells = dict[tuple[Scheme, Any, str], float]
"""What is printed for a scheme, a load and a measure."""

ROWS = {  # of Table 1, for each load
    UNCONGESTED: {"loss": (0, 0, 0), "completed": (15.0, 16.2, 17.3), "throughput": (91.3, 98.2, 105.9)},
    DROP_TAIL: {"loss": (1.8, 6.0, 8.8), "completed": (14.6, 15.1, 15.0), "throughput": (89.9, 92.0, 92.4)},
    PI: {"loss": (1.3, 3.9, 6.5), "completed": (14.4, 15.1, 15.1), "throughput": (87.9, 89.3, 89.9)},
    PI_ECN: {"loss": (0.3, 1.8, 2.5), "completed": (14.6, 14.9, 15.0), "throughput": (88.6, 89.4, 89.5)},
    DCN: {"loss": (0.95, 2.3, 3.0), "completed": (14.5, 14.9, 15.3), "throughput": (86.1, 88.6, 90.5)},
    AFD: {"loss": (0.5, 6.1, 8.9), "completed": (14.7, 14.5, 14.6), "throughput": (88.3, 87.6, 87.8)},
    AFD_ECN: {"loss": (0.5, 6.2, 9.2), "completed": (14.6, 14.5, 14.4), "throughput": (88.3, 87.9, 87.9)},
    RIO_PS: {"loss": (2.1, 5.3, 8.2), "completed": (14.6, 15.0, 15.3), "throughput": (88.8, 91.2, 91.9)},
    RIO_PS_ECN: {"loss": (1.3, 4.7, 7.9), "completed": (14.6, 15.2, 15.3), "throughput": (87.9, 91.0, 91.9)},
}
TABLE_1: Cells = {
    (scheme, load, name): float(value)
    for scheme, row in ROWS.items()
    for name, values in row.items()
    for load, value in zip(LOADS, values, strict=True)
}
MIX_COLUMNS = ("completed", "forward_loss", "reverse_loss", "forward_throughput", "reverse_throughput")
MIX_ROWS = {
    UNCONGESTED: (2.75, 0.0, 0.0, 105.3, 91.2),
    DROP_TAIL: (None, 3.7, None, 90.8, 85.7),
    PI_ECN: (None, 0.2, 0.1, 88.5, 84.4),
    DCN: (None, None, None, 89.4, 83.3),
    AFD_ECN: (2.67, 4.5, 0.7, 87.5, 80.2),
    RIO_PS_ECN: (None, None, None, 91.0, 83.5),
}
TABLE_2: Cells = {
    (scheme, GENERAL, name): value
    for scheme, row in MIX_ROWS.items()
    for name, value in zip(MIX_COLUMNS, row, strict=True)
    if value is not None
}
LABELS = {"loss": "packets dropped (%)", "completed": "millions in 90 minutes", "throughput": "throughput (Mbit/s)"}


def cell(at: Runs, name: str) -> Quantity:
    """A number of the tables. `at`: the runs of one scheme under one load."""
    if name != "completed":
        return at[name]
    what = "exchanges" if at.load == GENERAL else "requests"
    return (at["exchanges"] * (PAPER_MEASURED_S / at.settings.measured_s / 1e6)).as_(f"{what} (millions)")


def cells(runs: Runs, table: Cells) -> Iterator[Check]:
    """A check for each cell, all of them references: traffic, hosts and parameters are left open."""
    for (scheme, load, name), value in table.items():
        measured = cell(runs.at(scheme=scheme, load=load), name)
        bound = printed(value, _digit(load, name, value))
        yield reference(measured.label, measured, bound, id=name.replace("_", "-"))


def _digit(load: Any, name: str, value: float) -> float:
    """The last digit that is printed."""
    return 0.01 if value == 0.95 or (load == GENERAL and name == "completed") else 0.1


def agreement(runs: Runs, table: Cells) -> str:
    """How many cells come out, in a sentence; the zeros of the uncongested network do not count."""
    found = {key: cell(runs.at(scheme=key[0], load=key[1]), key[2]).mean for key, value in table.items() if value}
    off = {key: abs(measured - table[key]) for key, measured in found.items()}
    exact = sum(off[key] <= _digit(key[1], key[2], table[key]) / 2 for key in off)
    losses = [key for key in off if "loss" in key[2]]
    others = [key for key in off if key not in losses]
    near = [sum(off[key] <= points for key in losses) for points in (1, 2)]
    close = [sum(off[key] <= part * table[key] for key in others) for part in (0.02, 0.05)]
    return (
        f"Of {len(off)} printed numbers {exact} come out to the printed digit. Of {len(losses)} losses {near[0]} lie "
        f"within 1 point and {near[1]} within 2; of {len(others)} numbers of requests and throughputs {close[0]} lie "
        f"within 2 % and {close[1]} within 5 %."
    )


Series = tuple[str, Any, str]
"""What is drawn in one shade: what the legend calls it, the load and the measure."""


@dataclass(frozen=True)
class Dots:
    """A table as dots: a panel for each of `panels`, a row for each scheme; means over seeds with 95 % intervals, and
    the paper's numbers, `table`, as open diamonds."""

    panels: Mapping[str, Sequence[Series]]
    table: Cells

    def __call__(self, checks: Sequence[Check], runs: Runs) -> Drawing:
        rows = []
        for panel, series in self.panels.items():
            for group, load, name in series:
                for at in runs.at(load=load).each("scheme"):
                    spread = cell(at, name).spread
                    paper = self.table.get((at.scheme, load, name))
                    rows.append({"panel": panel, "group": group, "scheme": at.scheme.label, "mean": spread.mean,
                                 "half_width": spread.half_width, "paper": paper})  # fmt: skip
        data = pl.DataFrame(rows, schema_overrides={"paper": pl.Float64})
        data = data.with_columns(pl.col("half_width").fill_nan(None))
        return Drawing(self.draw(data), data, words=agreement(runs, self.table))

    @plot.drawing
    def draw(self, data: pl.DataFrame) -> Drawn:
        """The drawing alone."""
        schemes, groups = (data[name].unique(maintain_order=True).to_list() for name in ("scheme", "group"))
        figure, (row,) = plot.panels(1, len(self.panels), height=0.55 * len(schemes) + 1.4)
        colours = (plot.SKY, plot.BLUE, plot.BLACK)[-len(groups) :]
        for axes, panel in zip(row, self.panels, strict=True):
            for at, (group, colour) in enumerate(zip(groups, colours, strict=True)):
                part = data.filter((pl.col("panel") == panel) & (pl.col("group") == group))
                places = np.arange(part.height) + 0.22 * (at - (len(groups) - 1) / 2)
                half = part["half_width"].fill_null(0.0)
                ours = f"Sluicegate, {group}"
                axes.errorbar(part["mean"], places, xerr=half, fmt="o", color=colour, capsize=2, label=ours)
                axes.plot(part["paper"], places, "D", mfc="none", color=colour, ms=6.5, label=PRINTED)
            axes.set_xlabel(panel)
        row[0].set_yticks(range(len(schemes)), schemes)
        row[0].set_ylim(len(schemes) - 0.5, -0.5)
        plot.legend(figure, row, columns=3)
        return figure


of_table_1 = Dots({label: [(f"{load} %", load, name) for load in LOADS] for name, label in LABELS.items()}, TABLE_1)
of_table_2 = Dots({
    label: [(way, GENERAL, f"{way}_{name}") for way in ("forward", "reverse")] if name != "completed"
    else [("forward", GENERAL, name)]
    for name, label in LABELS.items()
}, TABLE_2)  # fmt: skip


@figure("table1", "Drops, completed requests and throughput", label="Table 1", source="Table 1", after=18, runs=ALL,
        chart=of_table_1)  # fmt: skip
def table1(runs: Runs) -> Iterator[Check]:
    """Drops at both queues; throughput of one direction, the mean of the two; requests of both, scaled to 90 minutes.
    Diamonds: printed in the paper.
    The paper gives neither its browser model nor its hosts in full. The layout of the rows of PI with ECN and of DCN is
    lost: their last two columns may be swapped."""
    dcn, tail = (runs.at(scheme=each, load=105)["loss"] for each in (DCN, DROP_TAIL))
    yield claim("a fairly low loss rate even at very high loads: 3.0 % where Drop Tail drops 8.8 %",
                (dcn / tail).as_("DCN's loss over Drop Tail's at 105 %", where=""), below(0.5), id="dcn-loss",
                source="Sec. 5.1, Table 1", remark="With a threshold of 40 packets DCN's loss comes near the printed "
                "one, and its queue is no longer held (see Threshold). With the default of 10 the loss is that of "
                "flows in HB, which DCN slows until their users offer no more than the link carries.")  # fmt: skip
    yield from cells(runs, TABLE_1)


@figure("table2", "General TCP: exchanges, drops and throughput", label="Table 2", source="Table 2", after=20,
        runs=GENERAL_TCP, chart=of_table_2)  # fmt: skip
def table2(runs: Runs) -> Iterator[Check]:
    """The paper's numbers where its cells are legible; those of Drop Tail and PI with ECN stand alone in the text and
    are assigned by their values. Exchanges of both directions."""
    yield from cells(runs, TABLE_2)
