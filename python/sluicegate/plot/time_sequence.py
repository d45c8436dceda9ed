"""The time–sequence figure of a flow, of the table of single packets: which bytes of its stream left the first link
under study that they cross, and when; what was dropped or lost on a wire; below, acknowledgements that pass a link
under study."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from . import style as plot

if TYPE_CHECKING:
    import polars as pl

SCALES = ((1e6, "MB"), (1e3, "kB"), (1.0, "bytes"))
"""Units of the stream, by how far it goes."""

LOST = "lost"
"""The event of a packet lost on the wire of a link, which has departed from it before."""

CROSSES = (("dropped", "x", plot.VERMILION), ("lost on the wire", "+", plot.PURPLE))
"""How packets that do not arrive are drawn: label, marker, colour."""

UNDATED: dict[str, dict[str, str | None]] = {
    ".png": {"Software": "Sluicegate"},
    ".pdf": {"Creator": "Sluicegate", "Producer": None, "CreationDate": None},
}
"""What files say of their making: no date and no version, so that equal figures give equal bytes."""


@plot.drawing
def figure(packets: pl.DataFrame, flow: int, name: str, *, cut: bool = False) -> Figure:
    """The figure of the flow of that number, of a group of that name; the table has data of it. `cut`: there were more
    packets than it holds."""
    import polars as pl

    own = packets.filter(pl.col("flow") == flow)
    data = own.filter((pl.col("to") == "receiver") & (pl.col("data_bytes") > 0))
    data = data.with_columns(end=pl.col("first_byte") + pl.col("data_bytes"))
    at_first = data.filter((pl.col("link") == data["link"][0]) & ~pl.col("event").is_in(["arrival", LOST]))
    at_first = at_first.with_columns(again=pl.int_range(pl.len()).over("first_byte") > 0)
    departures = at_first.filter(pl.col("event") == "departure")
    acks = own.filter((pl.col("to") == "sender") & (pl.col("event") != "arrival"))
    heights = [5, 1] if acks.height else [1]
    made = Figure(figsize=(10.0, 5.2 if acks.height else 4.4), layout="constrained")
    panels = made.subplots(len(heights), 1, sharex=True, squeeze=False, gridspec_kw={"height_ratios": heights})[:, 0]
    stream, *below = panels
    factor, unit = next(((f, u) for f, u in SCALES if data["end"].max() >= f), SCALES[-1])  # type: ignore[operator]
    _spans(stream, departures.filter(~pl.col("again")), factor, plot.BLUE, f"data leave {data['link'][0]}")
    _spans(stream, departures.filter("again"), factor, plot.ORANGE, "retransmissions leave it", "D")
    _crosses(stream, data.with_columns(height=(pl.col("first_byte") + pl.col("data_bytes") / 2) / factor))
    stream.set_ylabel(f"place in the stream ({unit})")
    ends = f"; the table packets ends at {packets['time_s'][-1]:.3g} s" if cut else ""
    stream.set_title(f"Time–sequence of flow {flow} ({name}){ends}")
    for axes in below:
        sent = acks.filter(event="departure")
        for link, colour in zip(sent["link"].unique(maintain_order=True), (plot.GREEN, plot.SKY), strict=False):
            axes.eventplot(sent.filter(link=link)["time_s"].to_numpy(), colors=colour, linewidths=0.7, lineoffsets=0.5,
                           linelengths=0.9, label=f"acknowledgements leave {link}")  # fmt: skip
        _crosses(axes, acks.with_columns(height=0.5))
        axes.set_yticks([])
        axes.set_ylim(0, 1)
        axes.grid(False)
    panels[-1].set_xlabel("time (s)")
    plot.legend(made, list(panels))
    return made


def encoded(made: Figure, suffix: str) -> bytes:
    """The figure as a file whose name ends so: ".svg", ".png" or ".pdf". Equal figures give equal bytes."""
    if suffix == ".svg":
        return plot.svg(made)
    buffer = BytesIO()
    with plot.house_style():
        made.savefig(buffer, format=suffix[1:], metadata=UNDATED[suffix])
    return buffer.getvalue()


def _crosses(axes: Axes, packets: pl.DataFrame) -> None:
    """Packets dropped at a queue and those lost on a wire, at the column `height`."""
    import polars as pl

    gone = packets.filter(~pl.col("event").is_in(["arrival", "departure"]))
    on_wire = pl.col("event") == LOST
    for (label, marker, colour), which in zip(CROSSES, (~on_wire, on_wire), strict=True):
        if (part := gone.filter(which)).height:
            axes.plot(part["time_s"], part["height"], marker, color=colour, markersize=7, markeredgewidth=1.8,
                      label=label, zorder=4)  # fmt: skip


def _spans(axes: Axes, packets: pl.DataFrame, factor: float, colour: str, label: str, marker: str = "") -> None:
    """Each packet as a stroke over the bytes that it carries, with a marker where few of them matter much."""
    if packets.is_empty():
        return
    times, low, high = (packets[name].to_numpy() for name in ("time_s", "first_byte", "end"))
    if marker:
        axes.plot(times, (low + high) / (2 * factor), marker, color=colour, markersize=4.5, label=label, zorder=3)
    else:
        axes.vlines(times, low / factor, high / factor, color=colour, linewidth=1.8, label=label)
        axes.plot(times, low / factor, ".", color=colour, markersize=2.5)
