"""What every result can do: be written and read again, become CSV and pandas, be drawn, and be a page of its own."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import polars as pl
import pytest
from conftest import Program
from matplotlib.figure import Figure

import sluicegate as sg
from sluicegate.plot.animation import EMPTY, MOST_PLACES
from sluicegate.plot.comparison import group_style
from sluicegate.results.result_object import ResultObject

DUMBBELL = Path(__file__).parent / "captures" / "dumbbell.pcap"
SHORT = {"run.duration": "6 s", "run.warmup": "2 s"}
LIST = "drop_tail,choke:min_th=5:max_th=15"


def a_run() -> sg.Run:
    return sg.run("unresponsive", sets=SHORT)


def a_comparison() -> sg.Comparison:
    return sg.compare("unresponsive", disciplines="red,choke", seeds=2, sets=SHORT)


def a_recommendation() -> sg.Recommendation:
    goals = "tcp utilisation above 50 %"
    return sg.recommend("unresponsive", disciplines="red,choke", goals=goals, seeds=2, sets=SHORT)


def a_sweep() -> sg.Sweep:
    over = {"flows.1.rate": ["0.5 Mbit/s", "2 Mbit/s"], "queue.discipline": "red,choke"}
    return sg.sweep("unresponsive", over=over, seeds=2, sets=SHORT)


def a_replay() -> sg.Replay:
    return sg.replay(DUMBBELL, rate="3 Mbit/s", queue="choke:min_th=5:max_th=15")


def replays() -> sg.Replay:
    return sg.replay(DUMBBELL, rate="3 Mbit/s", disciplines=LIST)


def an_evaluation() -> sg.Evaluation:
    return sg.evaluate("choke", quick=True, only=["8.2.2"], alone=True, seeds=1)


DRAWN = pytest.param(a_run, marks=pytest.mark.drawn)  # all pages are drawn by the same code, and drawing one is slow
MAKERS = (DRAWN, a_comparison, a_recommendation, a_sweep, a_replay, replays, an_evaluation)


@pytest.fixture(scope="module", params=MAKERS, ids=lambda maker: maker.__name__)
def made(request: pytest.FixtureRequest) -> ResultObject:
    result: ResultObject = request.param()
    return result


def test_what_is_written_comes_back_equal(made: ResultObject, tmp_path: Path) -> None:
    made.write(tmp_path / "out")
    again = type(made).read(tmp_path / "out")  # type: ignore[attr-defined]
    assert again.tables == made.tables
    assert again.summary == made.summary
    assert repr(again) == repr(made)
    if isinstance(made, sg.Recommendation):
        assert again.record() == made.record()
        ranking = made.tables["ranking"]
        assert ranking["discipline"].unique(maintain_order=True).to_list() == [each.label for each in made.ranking]
        assert ranking.equals(pl.read_parquet(tmp_path / "out" / "ranking.parquet"))
    assert again.html() == made.html()


def test_a_folder_of_something_else_is_said_to_be_so(made: ResultObject, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no summary\.json"):
        type(made).read(tmp_path)  # type: ignore[attr-defined]
    (tmp_path / "summary.json").write_text('{"version": "0"}')
    with pytest.raises(ValueError, match=r"holds no results of an? \w+: its summary\.json lacks"):
        type(made).read(tmp_path)  # type: ignore[attr-defined]


def test_a_summary_that_cannot_be_read_is_named(made: ResultObject, tmp_path: Path) -> None:
    file = tmp_path / "summary.json"
    for text in (b"{", b"", b"\xff"):
        file.write_bytes(text)
        with pytest.raises(ValueError, match=rf"^{re.escape(str(file))}: is no JSON: "):
            type(made).read(tmp_path)  # type: ignore[attr-defined]
    with pytest.raises(NotADirectoryError, match=r"is a file: give the folder that holds the results.*summary\.json"):
        type(made).read(file)  # type: ignore[attr-defined]


def test_a_table_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    for made, always in ((a_run(), ("flows", "links", "groups")), (a_replay(), ("links",))):
        folder = tmp_path / type(made).__name__
        made.write(folder)
        for name in always:
            file = folder / f"{name}.parquet"
            whole = file.read_bytes()
            for damaged in (b"", whole[: len(whole) // 2], whole[:-1], b"no Parquet"):
                file.write_bytes(damaged)
                with pytest.raises(ValueError, match=rf"^{re.escape(str(file))}: is damaged, or no Parquet file: "):
                    type(made).read(folder)
            file.unlink()
            with pytest.raises(ValueError, match=rf"the results are not whole: there is no {name}\.parquet$"):
                type(made).read(folder)
            file.write_bytes(whole)
        assert type(made).read(folder).tables == made.tables


def test_a_table_that_is_not_there_is_told_with_those_that_are(made: ResultObject) -> None:
    told = f'no such table: "nope"; tables: {", ".join(made.tables)}'
    for ask in (made.to_pandas, made.tables.__getitem__):
        with pytest.raises(KeyError) as caught:
            ask("nope")
        assert caught.value.args == (told,)
    assert "nope" not in made.tables


def test_a_report_is_one_file_that_needs_no_other(made: ResultObject, tmp_path: Path) -> None:
    page = made.report(tmp_path / "page.html")
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    text = page.read_text("utf-8")
    assert "<script" not in text
    links = re.findall(r'(?:href|src)="([^"]*)"', text)
    assert all(link.startswith(("#", "data:")) for link in links)
    assert not re.findall(r"url\((?!#)", text)
    assert text.count("<svg") >= 1
    ids = re.findall(r'\bid="([^"]*)"', text)
    assert len(ids) == len(set(ids))
    if isinstance(made, sg.Run):
        assert made.report(tmp_path / "again.html").read_bytes() == page.read_bytes()
    names = {"drop_tail", "choke"} if isinstance(made, sg.Replay) and len(made.disciplines) > 1 else {"choke"}
    if isinstance(made, sg.Run | sg.Comparison | sg.Recommendation | sg.Sweep):
        names |= {"tcp", "udp", "unresponsive"}
    assert all(name in text for name in names)


def test_a_notebook_shows_a_table_and_no_script(made: ResultObject) -> None:
    shown = made._repr_html_()
    assert shown.startswith("<table>")
    assert "<script" not in shown
    assert len(shown) < 20_000
    assert isinstance(made.plot(), Figure)


def test_csv_has_every_table_with_rows(made: ResultObject, tmp_path: Path) -> None:
    made.to_csv(tmp_path / "csv")
    files = {path.stem: path for path in (tmp_path / "csv").iterdir()}
    assert sorted(files) == sorted(name for name, table in made.tables.items() if table.height)
    for name, path in files.items():
        found = pl.read_csv(path, infer_schema=False)
        assert found.columns == made.tables[name].columns
        assert found.height == made.tables[name].height


def test_pandas_has_the_same_tables(made: ResultObject) -> None:
    found = made.to_pandas()
    assert list(found) == list(made.tables)
    for name, table in made.tables.items():
        own = found[name]
        assert list(own.columns) == table.columns
        for column in table.columns:
            missing = own[column].isna().to_numpy()
            assert (missing == table[column].is_null().to_numpy()).all()
            assert own[column][~missing].tolist() == table[column].drop_nulls().to_list()
    first = next(iter(found))
    assert made.to_pandas(first).equals(found[first])


def test_without_pandas_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install 'sluicegate\[pandas\]'"):
        a_replay().to_pandas("flows")


def test_tables_without_rows_are_not_written_and_old_ones_go(tmp_path: Path) -> None:
    full = sg.run("unresponsive", sets=SHORT | {"run.packets": 10})
    full.write(tmp_path)
    assert (tmp_path / "packets.parquet").is_file()
    run = a_run()
    run.write(tmp_path)
    written = {path.stem for path in tmp_path.glob("*.parquet")}
    assert written == {name for name, table in run.tables.items() if table.height}
    assert "packets" not in written
    again = sg.Run.read(tmp_path)
    assert again.packets.is_empty()
    assert again.packets.schema == run.packets.schema


def test_the_command_run_draws_and_writes_a_page(sluicegate: Program, tmp_path: Path) -> None:
    done = sluicegate("run", "unresponsive", "--set", "run.duration=6 s", "--set", "run.warmup=2 s", "-o", "out")
    assert done.returncode == 0
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"run.svg", "report.html", "summary.json", "groups.parquet"} <= names
    assert "exchanges.parquet" not in names
    run = sg.Run.read(tmp_path / "out")
    assert (tmp_path / "out/report.html").read_text("utf-8") == run.html()


def test_a_page_has_the_queue_moving_where_positions_were_kept() -> None:
    run = sg.simulate("unresponsive", duration="20 s", warmup="5 s", positions=3000)
    html = run.html()
    drawing = html[html.index("moving</h2>") :].partition("</svg>")[0]
    colours = {name: group_style(name, ["tcp", "udp"]).color for name in ("tcp", "udp")}
    rows = run.positions
    times = rows["time_s"].unique().sort().to_list()
    # From the head on: who stands there at each sample, and where nobody does the last colour.
    heads = [rows.filter(time_s=time)["name"].to_list()[::-1] for time in times]
    places = re.findall(r'<rect [^>]*width="12"[^>]*fill="([^"]*)">(?:<animate [^>]*values="([^"]*)")?', drawing)
    assert len(places) == min(max(map(len, heads)), MOST_PLACES) > 50
    for at, (first, values) in enumerate(places):
        shown = values.split(";") if values else [first] * len(times)
        assert shown == [colours[head[at]] if at < len(head) else EMPTY for head in heads]
    assert "<script" not in html
    assert "moving" not in sg.simulate("unresponsive", duration="20 s", warmup="5 s").html()


def test_replay_takes_several_disciplines(sluicegate: Program, tmp_path: Path) -> None:
    done = sluicegate("replay", DUMBBELL, "--rate", "3 Mbit/s", "--disciplines", LIST, "-o", "out", "--top", "3")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Queueing delay, 99th percentile" in done.stdout
    both = sg.Replay.read(tmp_path / "out")
    assert both.disciplines == LIST.split(",")
    assert both.links["discipline"].to_list() == both.disciplines
    assert {"replay.svg", "report.html"} <= {path.name for path in (tmp_path / "out").iterdir()}
    for label in both.disciplines:
        alone = sg.replay(DUMBBELL, rate="3 Mbit/s", queue=label)
        assert both.flows.filter(discipline=label).drop("discipline").equals(alone.flows, null_equal=True)
    assert both.tables == replays().tables


def test_several_disciplines_read_a_file_and_write_no_capture(tmp_path: Path) -> None:
    with pytest.raises(sg.ScenarioError, match="standard input can be read once only"):
        sg.replay("-", rate="3 Mbit/s", disciplines=LIST)
    with pytest.raises(sg.ScenarioError, match="for one discipline only"):
        sg.replay(DUMBBELL, rate="3 Mbit/s", disciplines=LIST, write=tmp_path / "after.pcapng")
    with pytest.raises(sg.ScenarioError, match="give one of the two"):
        sg.replay(DUMBBELL, rate="3 Mbit/s", disciplines=LIST, queue="red")


def test_the_delays_of_a_run_are_all_its_packets() -> None:
    done = sg.run("unresponsive", sets=SHORT)
    for group in done.groups.to_dicts():
        own = done.delays.filter(name=group["name"])
        assert own["packets"].sum() == group["delivered_packets"]
        assert own["delay_max_ns"].is_sorted()
        for part in (50, 95, 99):
            within = own.filter(pl.col("delay_max_ns") <= group[f"delay_p{part}_ns"])["packets"].sum()
            assert part / 100 <= within / group["delivered_packets"] < part / 100 + 0.04
    page = done.html()
    assert "Delays of all packets" in page
    assert "Queue over time" in page


def test_a_comparison_keeps_delays_of_all_seeds_and_the_queue_of_one() -> None:
    lossy = SHORT | {"network.loss": 0.02}
    done = sg.compare("unresponsive", disciplines="red,choke", seeds=[5, 2], sets=lossy)
    runs = [sg.run("unresponsive", queue="choke", seed=seed, sets=lossy) for seed in (2, 5)]
    udp = done.delays.filter(discipline="choke", name="udp")
    assert udp["packets"].sum() == sum(run.groups.filter(name="udp")["delivered_packets"].item() for run in runs)
    assert done.delays["discipline"].unique(maintain_order=True).to_list() == ["red", "choke"]
    kept = done.queue.filter(discipline="choke").drop("discipline")
    assert kept.equals(runs[0].queue.select("link", "time_s", "queue_packets"))
    lost = [run.links["lost_packets"].item() / run.links["arrivals_packets"].item() for run in runs]
    assert done.mean("choke", "lost_ratio")["mean"] == pytest.approx(sum(lost) / 2)
    page = done.html()
    assert all(words in page for words in ("Delays of all packets", "Queue over time", "on the wire %"))
    without = sg.compare("unresponsive", disciplines="red", seeds=1, sets=SHORT | {"run.series": False})
    assert without.queue.is_empty()
    assert "Queue over time" not in without.html()


def test_a_replay_keeps_the_queue_over_time_and_delays() -> None:
    done = replays()
    link = done.links.filter(discipline="drop_tail").to_dicts()[0]
    own = done.queue.filter(discipline="drop_tail")
    assert own["queue_packets_max"].max() == link["queue_packets_max"]
    lengths = own["time_s"].diff().fill_null(own["time_s"][0])
    mean = (own["queue_packets_mean"] * lengths).sum() / link["duration_s"]
    assert mean == pytest.approx(link["queue_packets_mean"], rel=1e-9)
    waits = done.delays.filter(discipline="drop_tail")
    assert waits["packets"].sum() == link["departures_packets"]
    assert waits["queueing_delay_max_ns"].max() == link["queueing_delay_max_ns"]
    page = done.html()
    assert all(words in page for words in ("Delays of all packets", "Queue over time"))
