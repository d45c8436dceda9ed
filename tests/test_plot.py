"""The house style: the same bytes whatever the user's settings, and series that can be told apart."""

from __future__ import annotations

import json

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

import sluicegate as sg
from sluicegate import _core
from sluicegate.plot import style as plot

pytestmark = pytest.mark.drawn


@plot.drawing
def example() -> Figure:
    figure, ((axes,),) = plot.panels(1, 1)
    plot.mean_line(axes, [0.1, 1, 10], [1, 2, 3], [0.5, np.nan, 0.2], plot.KINDS["udp"])
    plot.log_axis(axes, "x", [0.1, 1, 10])
    plot.reference(axes, 2.5, "limit")
    plot.legend(figure, [axes])
    return figure


def test_labels_of_a_logarithmic_axis_are_short() -> None:
    axes = Figure().subplots()
    plot.log_axis(axes, "x", [0.04641588, 0.2154434, 10, 12500])
    label = axes.xaxis.get_major_formatter()
    assert [label(tick, 0) for tick in axes.get_xticks()] == ["0.0464", "0.215", "10", "12500"]


def test_the_same_figure_gives_the_same_bytes() -> None:
    assert plot.svg(example()) == plot.svg(example())


def test_a_users_settings_change_nothing_and_come_back() -> None:
    before = plot.svg(example())
    with mpl.rc_context({"lines.linewidth": 9.0, "font.size": 20.0, "svg.hashsalt": "other", "svg.fonttype": "none"}):
        assert plot.svg(example()) == before
        assert mpl.rcParams["lines.linewidth"] == 9.0


def test_a_figure_carries_no_date_and_no_version() -> None:
    text = plot.svg(example()).decode()
    assert "dc:date" not in text
    assert mpl.__version__ not in text


def test_logarithmic_axes_have_plain_labels() -> None:
    figure = example()
    figure.canvas.draw()
    assert [label.get_text() for label in figure.axes[0].get_xticklabels()] == ["0.1", "1", "10"]


def test_disciplines_can_be_told_apart() -> None:
    known = [each["name"] for each in json.loads(_core.declarations())["disciplines"]]
    styles = [plot.discipline(name, label="") for name in known]
    assert len(set(styles)) == len(known)
    assert plot.discipline("of_my_own") == plot.discipline("of_my_own")


def test_no_two_kinds_of_flow_share_colour_and_marker() -> None:
    looks = [(style.color, style.marker) for style in plot.KINDS.values()]
    assert len(set(looks)) == len(looks)


def test_the_warm_up_is_shaded_over_time_and_no_legend_covers_a_line() -> None:
    fast = {"flows.1.rate": "20 Mbit/s", "network.rate": "15 Mbit/s"}
    drawn = sg.simulate("unresponsive", sets=fast, duration="4 s", warmup="1 s").plot()
    over_time = [axes for axes in drawn.axes if axes.get_xlabel() == "time (s)"]
    assert [axes.get_ylabel() for axes in over_time] == ["throughput (Mbit/s)", "packets in the queue"]
    drawn.draw_without_rendering()
    for axes in over_time:
        [shade] = [patch for patch in axes.patches if patch.get_label() == "warm-up, not measured"]
        assert shade.get_extents().width == pytest.approx(axes.bbox.width / 4, rel=0.01)
        top = max(float(line.get_ydata().max()) for line in axes.lines)
        assert axes.transData.transform((0, top))[1] < axes.get_legend().get_window_extent().y0
