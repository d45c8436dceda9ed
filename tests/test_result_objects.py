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
from sluicegate.result_object import ResultObject

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


MAKERS = (a_run, a_comparison, a_recommendation, a_sweep, a_replay, replays, an_evaluation)


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
    assert again.html() == made.html()


def test_a_folder_of_something_else_is_said_to_be_so(made: ResultObject, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no summary\.json"):
        type(made).read(tmp_path)  # type: ignore[attr-defined]
    (tmp_path / "summary.json").write_text('{"version": "0"}')
    with pytest.raises(ValueError, match=r"holds no results of an? \w+: its summary\.json lacks"):
        type(made).read(tmp_path)  # type: ignore[attr-defined]


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
    pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    found = made.to_pandas()
    assert {name: table.shape for name, table in found.items()} == {n: t.shape for n, t in made.tables.items()}
    first = next(iter(made.tables))
    assert list(made.to_pandas(first).columns) == made.tables[first].columns


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
