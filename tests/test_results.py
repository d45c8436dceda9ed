"""Results: their columns as declared and documented, and written whole or not at all."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import polars as pl
import pytest

import sluicegate as sg
from sluicegate import _core, io

DOCS = Path(__file__).parents[1] / "docs"
DECLARED = {table["name"]: table["columns"] for table in json.loads(_core.declarations())["tables"]}
POLARS = {"f64": pl.Float64, "i64": pl.Int64, "str": pl.String}


@pytest.fixture(scope="module")
def run() -> sg.Run:
    return sg.run("unresponsive", sets={"run.duration": "12 s", "run.warmup": "2 s"})


OF_CONNECTIONS = ["exchanges", "response_times"]
"""The tables of groups whose connections come and go; empty without such a group."""

ON_REQUEST = ["packets", "positions", "segments", "state"]
"""Tables that stay empty: the first three are kept on request only, and the disciplines here show nothing more."""


@pytest.mark.parametrize(("scenario", "empty"), [("unresponsive", [*OF_CONNECTIONS, *ON_REQUEST]), ("web", ON_REQUEST)])
def test_the_tables_have_the_declared_columns(scenario: str, empty: list[str]) -> None:
    run = sg.run(scenario, sets={"run.duration": "12 s", "run.warmup": "2 s"})
    assert sorted(run.tables) == sorted(DECLARED)
    for name, columns in DECLARED.items():
        schema = run.table(name).schema
        assert dict(schema) == {column["name"]: POLARS[column["dtype"]] for column in columns}, name
    assert sorted(name for name in run.tables if run.table(name).height == 0) == sorted(empty)


def test_the_tables_of_exchanges_agree() -> None:
    run = sg.run("web", sets={"run.duration": "20 s", "run.warmup": "5 s"})
    assert run.groups["users"].to_list() == [700, 700, None]
    by_class = run.response_times.group_by("group").agg(pl.col("exchanges", "response_bytes").sum()).sort("group")
    assert by_class.equals(run.groups.select("group", "exchanges", "response_bytes"))
    one_by_one = run.exchanges.group_by("group").agg(
        pl.len().cast(pl.Int64).alias("exchanges"), pl.col("response_bytes").sum()
    )
    assert one_by_one.sort("group").equals(by_class)
    means = run.exchanges.group_by("group").agg(pl.col("response_time_ns").mean()).sort("group")["response_time_ns"]
    assert means.to_list() == pytest.approx(run.groups["response_time_mean_ns"].to_list())
    # A class ends at most 1/64 above what it holds.
    pairs = (
        run.exchanges["response_time_ns"].sort()
        / run.response_times.select(pl.col("response_time_max_ns").repeat_by("exchanges").explode().sort())[
            "response_time_max_ns"
        ]
    )
    assert pairs.is_between(64 / 65, 1).all()


def test_the_manual_defines_every_column(run: sg.Run) -> None:
    page = (DOCS / "reference/results-columns.md").read_text("utf-8")
    overview = (DOCS / "results.md").read_text("utf-8")
    for name in run.tables:
        assert f"`{name}.parquet`" in overview
        section = page.split(f"\n## {name}\n")[1].split("\n## ")[0]
        rows = {line.split("|")[1].strip(): line.split("|")[4].strip() for line in section.splitlines() if "|" in line}
        for column in run.table(name).columns:
            assert rows[f"`{column}`"], column


def test_missing_values_are_null_and_none_is_nan(run: sg.Run) -> None:
    udp = run.flows.filter(pl.col("kind") == "udp")["flow"].item()
    windows = run.flow_series.filter(pl.col("flow") == udp)["cwnd_segments"]
    assert windows.null_count() == len(windows) > 0
    assert run.flow_series.filter(pl.col("flow") != udp)["cwnd_segments"].null_count() == 0
    for name in run.tables:
        table = run.table(name)
        floats = [column for column, kind in table.schema.items() if kind == pl.Float64]
        assert not table.select(pl.any_horizontal(pl.col(floats).is_nan().any()) if floats else pl.lit(False)).item()


def test_files_hold_what_the_run_holds(run: sg.Run, tmp_path: Path) -> None:
    folder = run.write(tmp_path / "new" / "folder")
    with_rows = [name for name, table in run.tables.items() if table.height]
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        [*(f"{name}.parquet" for name in with_rows), "summary.json"]
    )
    for name in with_rows:
        assert pl.read_parquet(folder / f"{name}.parquet").equals(run.table(name), null_equal=True)
    assert json.loads((folder / "summary.json").read_text("utf-8")) == run.summary


def test_the_summary_says_what_was_run(run: sg.Run) -> None:
    assert run.summary["version"] == sg.__version__
    assert run.summary["scenario_file"] == "unresponsive.toml"
    assert run.summary["seed"] == 1
    assert run.summary["events"] > 0
    assert run.summary["scenario"] == sg.check("unresponsive", sets={"run.duration": "12 s", "run.warmup": "2 s"})


def test_equal_runs_give_equal_files(tmp_path: Path) -> None:
    written = []
    for name in ("a", "b"):
        folder = sg.run("unresponsive", sets={"run.duration": "5 s", "run.warmup": "1 s"}).write(tmp_path / name)
        written.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert written[0] == written[1]


def test_an_existing_folder_keeps_its_other_files(run: sg.Run, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("kept")
    (tmp_path / "summary.json").write_text(ours("old"))
    run.write(tmp_path)
    assert (tmp_path / "mine.txt").read_text() == "kept"
    assert json.loads((tmp_path / "summary.json").read_text())["seed"] == 1
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_no_series_leaves_the_columns_without_rows() -> None:
    run = sg.run("unresponsive", sets={"run.duration": "2 s", "run.warmup": "0 s", "run.series": False})
    for name in ("flow_series", "queue", "occupancy", "state"):
        assert run.table(name).height == 0
        assert run.table(name).columns == [column["name"] for column in DECLARED[name]]
    assert run.flows.height == 33


def test_a_failure_half_way_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(LookupError), io.staged(tmp_path / "a" / "b") as folder:
        (folder / "half").write_text("half")
        raise LookupError
    assert list(tmp_path.iterdir()) == []


def test_a_failure_half_way_leaves_an_old_folder_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "half").write_text("old")
    with pytest.raises(KeyboardInterrupt), io.staged(tmp_path) as folder:
        (folder / "half").write_text("new")
        raise KeyboardInterrupt
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("half", "old")]


def test_a_new_folder_has_the_usual_permissions(run: sg.Run, tmp_path: Path) -> None:
    usual = tmp_path / "usual"
    usual.mkdir()
    folder = run.write(tmp_path / "ours")
    assert stat.S_IMODE(folder.stat().st_mode) == stat.S_IMODE(usual.stat().st_mode)


def test_a_place_that_cannot_be_written_is_refused_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for target in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(NotADirectoryError), io.staged(target):
            pytest.fail("the block must not run")
    if os.geteuid() != 0:  # root may write anywhere
        (tmp_path / "closed").mkdir(mode=0o500)
        with pytest.raises(PermissionError):
            io.check_writable(tmp_path / "closed" / "new")


def contents(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def ours(text: str) -> str:
    """A summary that is known as Sluicegate's."""
    return json.dumps({"version": text, "scenario": {}})


def write_two(folder: Path, text: str) -> None:
    with io.staged(folder) as stage:
        (stage / "data").mkdir()
        for name in ("data/table", "queue", "summary.json"):
            (stage / name).write_text(ours(text))


@pytest.mark.parametrize("blocked", ["queue", "summary.json", "data/table", "data"])
def test_a_target_of_the_wrong_type_is_named_and_changes_nothing(tmp_path: Path, blocked: str) -> None:
    write_two(tmp_path, "old")
    if blocked == "data":
        (tmp_path / "data/table").unlink()
        (tmp_path / "data").rmdir()
        (tmp_path / "data").write_text("a file")
    else:
        (tmp_path / blocked).unlink()
        (tmp_path / blocked).mkdir()
    before = contents(tmp_path)
    with pytest.raises((IsADirectoryError, NotADirectoryError)) as caught:
        write_two(tmp_path, "new")
    assert caught.value.filename == str(tmp_path / blocked)
    assert contents(tmp_path) == before
    with pytest.raises((IsADirectoryError, NotADirectoryError)):
        io.check_writable(tmp_path, [blocked + ("/" if blocked == "data" else "")])


@pytest.mark.parametrize("moves", range(6))
def test_a_failure_while_files_are_replaced_restores_the_old_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moves: int
) -> None:
    write_two(tmp_path, "old")
    before = contents(tmp_path)
    rename, done = Path.rename, []

    def fail_once(path: Path, to: Path) -> Path:
        done.append((path, to))
        if len(done) == moves + 1:
            raise OSError(28, "No space left on device", str(path))
        return rename(path, to)

    monkeypatch.setattr(Path, "rename", fail_once)
    with pytest.raises(OSError, match="No space left") as caught:
        write_two(tmp_path, "new")
    assert str(caught.value.filename) in {str(tmp_path / name) for name in before}
    assert contents(tmp_path) == before
    monkeypatch.undo()
    write_two(tmp_path, "new")
    assert set(contents(tmp_path).values()) == {ours("new")}


def test_the_summary_goes_first_and_comes_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_two(tmp_path, "old")
    rename, order = Path.rename, []
    monkeypatch.setattr(Path, "rename", lambda path, to: (order.append(path.name), rename(path, to))[1])
    write_two(tmp_path, "new")
    assert (order[0], order[-1]) == ("summary.json", "summary.json")


def test_results_of_another_kind_are_not_mixed_into_a_folder(tmp_path: Path) -> None:
    """A page of one beside the tables of the other would belong to neither."""
    run = sg.run("unresponsive", sets={"run.duration": "2 s", "run.warmup": "1 s"})
    run.write(tmp_path / "run")
    run.write(tmp_path / "run")
    before = {path: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    compared = sg.compare("unresponsive", disciplines="drop_tail", seeds=1, duration="2 s", warmup="1 s")
    told = r"holds a run \(groups.parquet\), and a comparison is to be written: write elsewhere, or remove it"
    with pytest.raises(FileExistsError, match=told):
        compared.write(tmp_path / "run")
    with pytest.raises(FileExistsError, match=told):  # before anything runs
        sg.compare("unresponsive", disciplines="drop_tail", seeds=1, out=tmp_path / "run")
    assert {path: path.read_bytes() for path in (tmp_path / "run").iterdir()} == before
    compared.write(tmp_path / "compared")
    with pytest.raises(FileExistsError, match="holds a comparison"):
        run.write(tmp_path / "compared")
    (tmp_path / "compared" / "recommendation.json").write_text("{}")
    compared.write(tmp_path / "compared")
    assert not (tmp_path / "compared" / "recommendation.json").exists(), "of another comparison"
