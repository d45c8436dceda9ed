"""Draw docs/images/choke.svg, the picture on the manual's first page: one scenario under three disciplines.

`--check` writes nothing and exits 1 if the file is not what would be drawn.
"""

import argparse
import sys
import warnings
from pathlib import Path

import polars as pl
from matplotlib.figure import Figure

import sluicegate as sg
from sluicegate.plot import style as plot

PICTURE = Path(__file__).resolve().parents[1] / "docs/images/choke.svg"
DISCIPLINES = {
    "Drop Tail": sg.DropTail(limit=300),
    "RED": sg.Red(min_th=30, max_th=60, limit=300),
    "CHOKe": sg.Choke(min_th=30, max_th=60, limit=300),
}
FLOWS = [sg.Tcp(32, "reno", window=100), sg.Udp(rate="2 Mbit/s")]


def series(queue: sg.Choke | sg.DropTail | sg.Red) -> pl.DataFrame:
    """Throughput of each kind of flow over time, in kbit/s, mean over each second."""
    network = sg.dumbbell(rate="1 Mbit/s", delay="1 ms", queue=queue)
    run = sg.simulate(network, FLOWS, duration="60 s", sample="1 s", seed=1)
    together = run.flow_series.join(run.flows.select("flow", "kind"), on="flow").group_by("kind", "time_s")
    return together.agg(pl.col("throughput_bps").sum() / 1e3).sort("time_s")


@plot.drawing
def draw() -> Figure:
    figure, [axes] = plot.panels(1, 3, width=9.6, height=2.7)
    for ax, (title, queue) in zip(axes, DISCIPLINES.items(), strict=True):
        data = series(queue)
        for kind, label in (("udp", "one UDP flow, sends 2 Mbit/s"), ("tcp", "32 TCP flows together")):
            points = data.filter(pl.col("kind") == kind)
            ax.plot(points["time_s"], points["throughput_bps"], color=plot.KINDS[kind].color, label=label)
        ax.set(title=title, xlabel="time, s", xlim=(0, 60), ylim=(0, 1050), xticks=range(0, 61, 20))
    axes[0].set_ylabel("throughput, kbit/s")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--check", action="store_true", help="write nothing, fail if the picture is stale")
    warnings.simplefilter("ignore", sg.TrapWarning)  # a flood under RED is what the picture shows
    drawn = plot.svg(draw())
    if parser.parse_args().check:
        fresh = PICTURE.is_file() and PICTURE.read_bytes() == drawn
        if not fresh:
            print(f"stale: {PICTURE.name}\n fix: run `make picture` and commit what it wrote", file=sys.stderr)
        return 0 if fresh else 1
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_bytes(drawn)
    return 0


if __name__ == "__main__":
    sys.exit(main())
