"""Counters in tables are signed, of whatever results, so that a difference of two may be negative."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from conftest import SMALL
from polars import selectors
from test_shell_packets import real

import sluicegate as sg
from sluicegate.results.result_object import ResultObject

CAPTURE = Path(__file__).parent / "captures" / "dumbbell.pcap"
WEB = """
network = { rate = "10 Mbit/s" }
flows = [{ kind = "http", name = "web", count = 20 }, { kind = "tcp", name = "bulk", size = "20 kB" }]
run = { duration = "4 s", exchanges = true, packets = 100, positions = 100 }
"""


def unsigned(tables: dict[str, pl.DataFrame]) -> dict[str, list[str]]:
    """The columns of tables whose numbers have no sign."""
    found = {name: table.select(selectors.unsigned_integer()).columns for name, table in tables.items()}
    return {name: columns for name, columns in found.items() if columns}


def test_a_difference_of_counters_may_be_negative() -> None:
    flows = sg.run(SMALL, sets={"run.duration": "4 s"}).flows
    less = flows.select(pl.col("delivered_packets") - pl.col("sent_packets"))
    assert less.min().item() < 0
    assert less.min().item() > -100_000


def test_counters_of_every_kind_of_results_are_signed(tmp_path: Path) -> None:
    run = sg.run(WEB)
    done: dict[str, ResultObject] = {
        "run": run,
        "replay": sg.replay(CAPTURE, rate="1 Mbit/s"),
        "replays": sg.replay(CAPTURE, rate="1 Mbit/s", disciplines="red,choke"),
        "comparison": sg.compare(SMALL, disciplines="red,choke", seeds=2, sets={"run.duration": "4 s"}),
        "sweep": sg.sweep(SMALL, over={"queue.limit": [40, 50]}, seeds=2, sets={"run.duration": "4 s"}),
        "recommendation": sg.recommend(SMALL, disciplines="red,choke", seeds=2, sets={"run.duration": "4 s"}),
    }
    for name, result in done.items():
        assert unsigned(dict(result.tables)) == {}, name
    run.write(tmp_path / "run")
    assert unsigned(dict(sg.Run.read(tmp_path / "run").tables)) == {}
    for file in (tmp_path / "run").glob("*.parquet"):
        assert unsigned({file.stem: pl.read_parquet(file)}) == {}


def test_counters_without_a_sign_in_older_files_are_read_with_one(tmp_path: Path) -> None:
    run = sg.run(SMALL, sets={"run.duration": "4 s"})
    run.write(tmp_path)
    old = run.flows.with_columns(pl.col("sent_packets").cast(pl.UInt64))
    old.write_parquet(tmp_path / "flows.parquet")
    assert sg.Run.read(tmp_path).flows.equals(run.flows, null_equal=True)


@real
@pytest.mark.filterwarnings("ignore::sluicegate.RealHostsWarning")
def test_counters_of_real_packets_are_signed() -> None:
    assert unsigned(dict(sg.shell(["true"], rate="5 Mbit/s", peer="sleep 5").tables)) == {}
    assert unsigned(dict(sg.testbed(SMALL, sets={"run.duration": "500 ms", "run.warmup": "0 s"}).tables)) == {}
