"""Runs in the forms of other programs: Flent's data files, qlog, time–sequence figures."""

from __future__ import annotations

import gzip
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import Program

import sluicegate as sg
from sluicegate import ScenarioError
from sluicegate.export import qlog
from sluicegate.plot import time_sequence

SETS = {"run.duration": "6 s", "run.warmup": "0 s", "run.packets": 200_000}

NEW = {"file_schema": "urn:ietf:params:qlog:file:sequential", "serialization_format": "application/qlog+json-seq"}

# Of the drafts' tables: the fields of each event's data, those that must be there, and their types.
METRICS = {"congestion_window": int, "ssthresh": int, "bytes_in_flight": int, "smoothed_rtt": float,
           "dropped_packets": int}  # fmt: skip

# An entry of http is one flow, whatever its count, so the flows are 1, 2 and 3.
MIXED = """
network = { rate = "5 Mbit/s", delay = "5 ms" }
queue = { discipline = "codel" }
flows = [{ kind = "http", name = "web", count = 5 }, { kind = "tcp" }, { kind = "udp", rate = "64 kbit/s" }]
run = { duration = "2 s", warmup = "0 s", packets = 20000 }
"""

# The first flow crosses a link that is not under study alone.
LINKS = """
queue = { discipline = "codel" }
flows = [{ kind = "tcp", name = "near", path = ["edge"] }, { kind = "tcp", name = "far", path = ["edge", "core"] }]
run = { duration = "2 s", warmup = "0 s", packets = 20000 }
[[network.links]]
name = "edge"
from = "a"
to = "b"
rate = "5 Mbit/s"
delay = "5 ms"
managed = false
limit = 100
[[network.links]]
name = "core"
from = "b"
to = "c"
rate = "5 Mbit/s"
delay = "5 ms"
"""


@pytest.fixture(scope="module")
def run() -> sg.Run:
    return sg.run("two_way", sets=SETS)


# --- qlog --------------------------------------------------------------------------------------


def records(file: Path) -> list[dict[str, Any]]:
    """The texts of a JSON text sequence: each begins with RS and ends with LF, and neither is within (RFC 7464)."""
    whole = file.read_bytes()
    assert whole.startswith(b"\x1e")
    texts = whole.split(b"\x1e")[1:]
    assert all(text.endswith(b"\n") and text.count(b"\n") == 1 for text in texts)
    return [json.loads(text) for text in texts]


def check_header(head: dict[str, Any], draft: str) -> None:
    trace = head["trace"]
    common = trace["common_fields"]
    assert isinstance(head["title"], str)
    assert trace["vantage_point"]["type"] in ("client", "server", "network", "unknown")
    assert isinstance(common["group_id"], str)
    if draft == "current":
        assert {key: head[key] for key in NEW} == NEW
        assert set(head) == {*NEW, "title", "description", "trace"}
        assert set(trace) == {"vantage_point", "common_fields", "event_schemas"}
        assert trace["event_schemas"] == ["urn:ietf:params:qlog:events:quic-12"]
        assert common["time_format"] == "relative_to_epoch"
        assert common["reference_time"] == {"clock_type": "monotonic", "epoch": "unknown"}
    else:
        assert (head["qlog_version"], head["qlog_format"]) == ("0.3", "JSON-SEQ")
        assert common["time_format"] == "relative"
        assert common["protocol_type"] == ["TCP"]


def check_event(event: dict[str, Any], draft: str) -> None:
    assert set(event) == {"time", "name", "data"}
    assert isinstance(event["time"], float)
    space, name = event["name"].split(":")
    data = event["data"]
    if draft == "current":
        assert space == "quic"
        name = name.removeprefix("recovery_")
    else:
        assert space == ("transport" if name == "packet_sent" else "recovery")
    if name == "metrics_updated":
        assert data
        assert all(type(value) is METRICS[key] and value >= 0 for key, value in data.items())
    elif name == "congestion_state_updated":
        assert isinstance(data["new"], str)
        assert set(data) <= {"old", "new"}
    else:
        assert name in ("packet_sent", "packet_lost")
        assert data["header"]["packet_type"] == "1RTT"
        assert type(data["header"]["packet_number"]) is int


@pytest.mark.parametrize("draft", ["current", "0.3"])
def test_qlog_has_what_its_draft_asks_for(run: sg.Run, tmp_path: Path, draft: Any) -> None:
    head, *events = records(run.to_qlog(25, tmp_path / "a.sqlog", draft))
    check_header(head, draft)
    assert len(events) > 100
    for event in events:
        check_event(event, draft)
    times = [event["time"] for event in events]
    assert times == sorted(times)


def test_qlog_says_what_the_tables_say(run: sg.Run, tmp_path: Path) -> None:
    _, *events = records(run.to_qlog(1, tmp_path / "a.sqlog"))
    told: dict[str, Any] = {}
    states = []
    for event in events:
        told |= event["data"] if event["name"] == "quic:recovery_metrics_updated" else {}
        states += [event["data"]["new"]] if event["name"] == "quic:congestion_state_updated" else []
    last = run.flow_series.filter(flow=1).tail(1).to_dicts()[0]
    assert told["congestion_window"] == round(960 * last["cwnd_segments"])
    assert told["ssthresh"] == round(960 * last["ssthresh_segments"])
    assert told["bytes_in_flight"] == last["in_flight_bytes"]
    assert told["smoothed_rtt"] == pytest.approx(1e-6 * last["srtt_ns"])
    own = run.flow_series.filter(flow=1)
    dropped = sum(event["data"].get("dropped_packets", 0) for event in events)
    assert dropped == own["drops_packets"].sum() > 0
    assert states.count("recovery") == own.filter(pl.col("window_cuts") > 0).height > 0
    data = run.packets.filter((pl.col("flow") == 1) & (pl.col("to") == "receiver") & (pl.col("data_bytes") > 0))
    names = [event["name"] for event in events]
    assert names.count("quic:packet_sent") == data.filter(event="arrival").height
    assert names.count("quic:packet_lost") == data.filter(~pl.col("event").is_in(["arrival", "departure"])).height


def test_equal_runs_give_equal_files(run: sg.Run, tmp_path: Path) -> None:
    run.write(tmp_path / "run")
    again = sg.Run.read(tmp_path / "run")
    for name, write in (("a.sqlog", lambda of, to: of.to_qlog(1, to)), ("a.flent.gz", lambda of, to: of.to_flent(to))):
        one, two = write(run, tmp_path / "one" / name), write(again, tmp_path / "two" / name)
        assert one.read_bytes() == two.read_bytes()


def test_a_flow_is_named_by_its_number_or_its_group(tmp_path: Path) -> None:
    run = sg.run("unresponsive", sets={"run.duration": "3 s", "run.warmup": "0 s"})
    kinds = dict(run.flows.select("flow", "kind").iter_rows())
    [other, *_] = [flow for flow, kind in kinds.items() if kind not in ("tcp", "telnet")]
    with pytest.raises(ScenarioError, match=rf"flow {other}: has no congestion window.*nearest is flow \d+"):
        run.to_qlog(other, tmp_path / "a.sqlog")
    with pytest.raises(ScenarioError, match=rf"flow 999: there is no such flow.*1 to {len(kinds)}"):
        run.to_qlog(999, tmp_path / "a.sqlog")
    name = run.flows["name"][0]
    with pytest.raises(ScenarioError, match=f'did you mean "{name}"'):
        run.to_qlog(f"{name}x", tmp_path / "a.sqlog")
    assert not list(tmp_path.iterdir())


def test_connections_that_come_and_go_are_one_flow(tmp_path: Path) -> None:
    run = sg.run(MIXED)
    assert run.flows["kind"].to_list() == ["http", "tcp", "udp"]
    head, *_ = records(run.to_qlog(2, tmp_path / "a.sqlog"))
    assert head["title"].startswith("flow 2 (tcp), ")
    streams = load(run.to_flent(tmp_path / "a.flent.gz"))["metadata"]["SERIES_META"]
    assert [each["FLOW"] for each in streams.values()] == [2]
    assert "flow 2 (tcp)" in run.plot_time_sequence(2).axes[0].get_title("left")
    for flow in (1, "web"):
        with pytest.raises(
            ScenarioError, match=rf"flow {flow}: is many connections, each with its own stream of bytes"
        ):
            run.plot_time_sequence(flow)
        with pytest.raises(ScenarioError, match=rf"flow {flow}: is many connections, each with its own congestion win"):
            run.to_qlog(flow, tmp_path / "b.sqlog")
    with pytest.raises(ScenarioError, match=r"no such flow: they are numbered from 1 to 3$"):
        run.to_qlog("9" * 5000, tmp_path / "b.sqlog")


def lost_on_the_wire() -> pl.DataFrame:
    """Two packets of data and an acknowledgement: the second is lost on the wire and sent again, and so is the last."""
    rows = [
        (0.1, "receiver", "arrival", 0), (0.2, "receiver", "departure", 0),
        (0.3, "receiver", "arrival", 1000), (0.4, "receiver", "departure", 1000), (0.4, "receiver", "lost", 1000),
        (0.5, "sender", "arrival", 0), (0.6, "sender", "departure", 0), (0.6, "sender", "lost", 0),
        (0.7, "receiver", "arrival", 1000), (0.8, "receiver", "tail", 1000),
    ]  # fmt: skip
    table = pl.DataFrame(rows, schema=["time_s", "to", "event", "first_byte"], orient="row")
    data = pl.when(pl.col("to") == "receiver").then(1000).otherwise(0)
    return table.with_columns(flow=1, link=pl.lit("bottleneck"), data_bytes=data, packet_bytes=data + 40)


@pytest.mark.parametrize("draft", ["current", "0.3"])
def test_a_loss_on_a_wire_is_a_packet_lost(run: sg.Run, draft: Any) -> None:
    tables = {"packets": lost_on_the_wire(), "flow_series": run.flow_series.clear()}
    text = qlog.sequence(run.summary["scenario"], tables, 1, draft).split(b"\x1e")[2:]
    events = [json.loads(each) for each in text]
    assert [(each["name"].split(":")[1], each["data"]["header"]["packet_number"]) for each in events] == [
        ("packet_sent", 0), ("packet_sent", 1), ("packet_lost", 1), ("packet_sent", 2), ("packet_lost", 2)
    ]  # fmt: skip
    assert [each["data"].get("drop_reason") for each in events] == [None, None, "lost", None, "tail"]
    assert [each["time"] for each in events] == [100, 300, 400, 700, 800]


# --- Flent -------------------------------------------------------------------------------------


def load(file: Path) -> dict[str, Any]:
    return dict(json.loads(gzip.decompress(file.read_bytes())))


def test_flent_has_the_streams_and_what_it_computes_of_them(run: sg.Run, tmp_path: Path) -> None:
    found = load(run.to_flent(tmp_path / "a.flent.gz", "mine"))
    assert found["version"] == 4
    assert found["metadata"]["NAME"] == "rrul_var"
    assert found["metadata"]["TITLE"] == "mine"
    tcp = run.flows.filter(kind="tcp")
    assert found["metadata"]["TEST_PARAMETERS"]["bidir_streams"] == str(tcp.height // 2)
    own = run.flow_series.filter(flow=1)
    assert found["x_values"] == own["time_s"].to_list()
    results = found["results"]
    assert results["TCP download::1"] == pytest.approx((own["throughput_bps"] * 960 / 1000 * 1e-6).to_list())
    assert all(len(values) == len(found["x_values"]) for values in results.values())
    down = [values for name, values in results.items() if name.startswith("TCP download::")]
    assert results["TCP download sum"] == pytest.approx([sum(values) for values in zip(*down, strict=True)])
    assert not any(name.startswith("Ping") for name in results)
    raw = found["raw_values"]["TCP download::1"][-1]
    last = own.tail(1).to_dicts()[0]
    assert raw["tcp_cwnd"] == last["cwnd_segments"]
    assert raw["tcp_rtt"] == pytest.approx(1e-6 * last["srtt_ns"])


@pytest.mark.parametrize(
    ("direction", "test"), [("forward", "tcp_ndown"), pytest.param("reverse", "tcp_nup", marks=pytest.mark.full)]
)
def test_flent_opens_the_file_and_plots_it(tmp_path: Path, direction: str, test: str) -> None:
    pytest.importorskip("flent", reason="Flent from PyPI, of the development requirements")
    text = f"""
    network = {{ rate = "10 Mbit/s", delay = "5 ms" }}
    queue = {{ discipline = "codel" }}
    flows = [{{ kind = "tcp", count = 2, direction = "{direction}" }}]
    run = {{ duration = "12 s", warmup = "0 s" }}
    """
    run = sg.run(text)
    file = run.to_flent(tmp_path / "a.flent.gz")
    assert load(file)["metadata"]["NAME"] == test
    environment = os.environ | {"HOME": str(tmp_path), "MPLBACKEND": "Agg"}
    way = "download" if direction == "forward" else "upload"

    def flent(*words: str) -> str:
        line = [sys.executable, "-m", "flent", "-i", str(file), *words]
        done = subprocess.run(line, env=environment, cwd=tmp_path, capture_output=True, encoding="utf-8")
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    told = flent("-f", "summary")
    for number, flow in enumerate((1, 2), 1):
        [line] = [line for line in told.splitlines() if line.strip().startswith(f"TCP {way}::{number}")]
        mean = 1e-6 * run.flow_series.filter(flow=flow)["throughput_bps"].mean()
        packet = run.summary["scenario"]["flows"][0]
        share = 1 - float(packet["header_size"].split()[0]) / float(packet["packet_size"].split()[0])
        assert float(line.split(":")[-1].split()[0]) == pytest.approx(mean * share, abs=0.006)
    for plot in ("totals", way, "tcp_rtt", "tcp_cwnd"):
        flent("-p", plot, "-o", f"{plot}.png")
        assert (tmp_path / f"{plot}.png").stat().st_size > 5000, plot


def test_flent_needs_streams_and_samples(tmp_path: Path) -> None:
    only = '[network]\nrate = "1 Mbit/s"\ndelay = "1 ms"\n[run]\nduration = "2 s"\nwarmup = "0 s"\n[queue]\n'
    only += 'discipline = "drop_tail"\n[[flows]]\nkind = "udp"\nrate = "500 kbit/s"\n'
    with pytest.raises(ScenarioError, match="there must be flows of kind tcp, and there are only: udp"):
        sg.run(only).to_flent(tmp_path / "a.flent.gz")
    with pytest.raises(ScenarioError, match=r"run\.series = false: must be true"):
        sg.run("two_way", sets=SETS, series=False).to_flent(tmp_path / "a.flent.gz")


def test_a_name_says_the_form(run: sg.Run, tmp_path: Path) -> None:
    for name in ("a", "a.gz", "a.flent", "a.flent.gz.bak"):
        with pytest.raises(ScenarioError, match=rf"{name}: must end in \.flent\.gz$"):
            run.to_flent(tmp_path / name)
    for name in ("a", "a.json", "sqlog"):
        with pytest.raises(ScenarioError, match=rf"{name}: must end in \.sqlog or \.qlog$"):
            run.to_qlog(1, str(tmp_path / name))
    assert not list(tmp_path.iterdir())
    assert run.to_qlog(1, tmp_path / "a.qlog").read_bytes() == run.to_qlog(1, tmp_path / "a.sqlog").read_bytes()


# --- time–sequence -----------------------------------------------------------------------------


def test_a_time_sequence_shows_each_packet_once(run: sg.Run) -> None:
    figure = run.plot_time_sequence(1)
    stream = figure.axes[0]
    data = run.packets.filter((pl.col("flow") == 1) & (pl.col("to") == "receiver") & (pl.col("data_bytes") > 0))
    drawn = {line.get_label(): len(line.get_xdata()) for line in stream.get_lines()}
    [first] = [each for each in stream.collections if each.get_label() == "data leave bottleneck"]
    again = drawn.get("retransmissions leave it", 0)
    assert len(first.get_paths()) + again == data.filter(event="departure").height
    assert drawn["dropped"] == data.filter(~pl.col("event").is_in(["arrival", "departure"])).height > 0
    assert 0 < again <= run.flows.filter(flow=1)["retransmissions"][0]
    assert "flow 1 (tcp_1)" in stream.get_title("left")


def test_a_time_sequence_needs_packets(run: sg.Run) -> None:
    with pytest.raises(ScenarioError, match=r"run\.packets = 0: must be above 0"):
        sg.run("two_way", sets=SETS | {"run.packets": 0}).plot_time_sequence(1)
    part = sg.run("two_way", sets=SETS | {"run.packets": 8000}).plot_time_sequence(1)
    assert "the table packets ends at" in part.axes[0].get_title("left")
    few = sg.run("two_way", sets=SETS | {"run.packets": 10})
    with pytest.raises(ScenarioError, match=r"run\.packets = 10: the table packets ends at .* of flow 1"):
        few.plot_time_sequence(1)


def test_a_time_sequence_shows_what_a_wire_loses() -> None:
    stream, below = time_sequence.figure(lost_on_the_wire(), 1, "tcp").axes
    places = {line.get_label(): line.get_xydata().tolist() for line in stream.get_lines()}
    assert places["lost on the wire"] == [[0.4, 1.5]]
    assert places["dropped"] == [[0.8, 1.5]]
    assert "retransmissions leave it" not in places  # the retransmission was dropped, and a loss is no transmission
    [first] = [each for each in stream.collections if each.get_label() == "data leave bottleneck"]
    assert len(first.get_paths()) == 2
    places = {line.get_label(): line.get_xydata().tolist() for line in below.get_lines()}
    assert places == {"lost on the wire": [[0.6, 0.5]]}


def test_a_time_sequence_needs_a_stream_at_a_link_under_study(run: sg.Run) -> None:
    mixed = sg.run(MIXED)
    with pytest.raises(
        ScenarioError, match=r"flow 3: has no stream of bytes \(its kind is udp\); .* nearest is flow 2$"
    ):
        mixed.plot_time_sequence(3)
    far = sg.run(LINKS)
    assert far.plot_time_sequence("far").axes
    with pytest.raises(
        ScenarioError, match=r"flow near: its data cross no link under study, only link edge; one of th"
    ):
        far.plot_time_sequence("near")
    late = sg.run(MIXED, sets={"flows.1.start": "3 s"})
    with pytest.raises(ScenarioError, match=r"flow 2: none of its data reached a link under study in this run"):
        late.plot_time_sequence(2)


# --- command line ------------------------------------------------------------------------------


def test_the_command_writes_them_all(run: sg.Run, tmp_path: Path, sluicegate: Program) -> None:
    sets = [word for key, value in SETS.items() for word in ("--set", f"{key}={value}")]
    asked = ["--flent", "a.flent.gz", "--qlog", "1=a.sqlog", "--qlog", "2"]
    asked += ["--time-sequence", "1=a.svg", "--time-sequence", "2"]
    done = sluicegate("run", "two_way", *sets, "-q", "-o", "out", *asked)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "a.sqlog").read_bytes() == run.to_qlog(1, tmp_path / "b.sqlog").read_bytes()
    assert (tmp_path / "out/flow-2.sqlog").read_bytes() == run.to_qlog(2, tmp_path / "b.sqlog").read_bytes()
    assert load(tmp_path / "a.flent.gz")["results"] == load(run.to_flent(tmp_path / "b.flent.gz"))["results"]
    assert (tmp_path / "a.svg").read_bytes().startswith(b"<?xml")
    assert (tmp_path / "out/flow-2.svg").is_file()


def test_the_command_of_the_manual_is_right(tmp_path: Path, sluicegate: Program) -> None:
    page = Path(__file__).parents[1].joinpath("docs/results.md").read_text("utf-8")
    [line] = [line for line in page.splitlines() if line.startswith("sluicegate run two_way ")]
    done = sluicegate("run", *shlex.split(line)[2:], "--set", "run.duration=6 s", "--set", "run.warmup=1 s")
    assert done.returncode == 0, done.stderr
    assert {file.name for file in tmp_path.iterdir()} == {"run.flent.gz", "flow.sqlog", "flow.svg"}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--qlog", "999=a.sqlog"], "--qlog 999: there is no such flow: they are numbered from 1 to 48"),
        (["--qlog", "tcp=a.sqlog"], "--qlog tcp: must be the number of a flow, or the name of a group of one"),
        (["--qlog", "1"], "--qlog 1: say where to write it: -o FOLDER, or --qlog 1=FILE"),
        (["--qlog", "=a"], "--qlog =a: must be FLOW or FLOW=FILE"),
        (["--qlog", "0"], "--qlog 0: there is no such flow: they are numbered from 1 to 48; and say where to write it"),
        (
            ["--time-sequence", "tcp_1x"],
            "--time-sequence tcp_1x: must be the number of a flow, or the name of a group "
            'of one; did you mean "tcp_1"?; and say where to write it: -o FOLDER, or --time-sequence FLOW=FILE',
        ),
        (["--qlog", "0=a"], "--qlog 0: there is no such flow: they are numbered from 1 to 48; and a: must end in"),
        (["--qlog", "1=a.json"], "--qlog 1: a.json: must end in .sqlog or .qlog"),
        (["--time-sequence", "1=a.jpg", "--set", "run.packets=9"], "1: a.jpg: must end in .svg, .png or .pdf"),
        (["--time-sequence", "1=a.svg"], "--time-sequence 1: run.packets = 0: must be above 0"),
        (["--flent", "a.gz"], "--flent a.gz: must end in .flent.gz"),
        (["--flent", "/proc/a.flent.gz"], "/proc"),
    ],
)
def test_what_cannot_be_written_is_refused_before_the_run(
    tmp_path: Path, words: list[str], told: str, sluicegate: Program
) -> None:
    done = sluicegate("run", "two_way", *words)
    assert done.returncode == 2
    assert told in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("flow", "told"),
    [
        (
            "udp",
            "udp: has no stream of bytes (its kind is udp); it must be of kind tcp or telnet; the nearest is flow 2",
        ),
        ("1", "1: is many connections, each with its own stream of bytes (its kind is http)"),
        ("near", "near: its data cross no link under study, only link edge; one of them needs managed = true"),
    ],
)
def test_a_flow_that_cannot_be_drawn_is_refused_before_the_run(
    tmp_path: Path, flow: str, told: str, sluicegate: Program
) -> None:
    tmp_path.joinpath("a.toml").write_text(LINKS if flow == "near" else MIXED)
    for words in ([f"{flow}=a.svg"], [flow, "-o", "out"]):
        done = sluicegate("run", "a.toml", "--set", "run.duration=100000 s", "--time-sequence", *words)
        assert done.returncode == 2
        assert f"error: --time-sequence {told}" in done.stderr
        assert [file.name for file in tmp_path.iterdir()] == ["a.toml"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--qlog", "1=out/flows.parquet"], "--qlog 1, -o: two files cannot both be {}/out/flows.parquet"),
        (["--time-sequence", "1=out/../out/run.svg"], "--time-sequence 1, -o: two files cannot both be {}/out/run.svg"),
        (
            ["--flent", "link/report.html"],
            "--flent link/report.html, -o: two files cannot",
        ),
        (
            ["--pcap", "bottleneck=out/summary.json"],
            "--pcap bottleneck, -o: two files cannot both be {}/out/summary.json",
        ),
        (["--pcap", "bottleneck=link/run.svg"], "--pcap bottleneck, -o: two files cannot both be {}/out/run.svg"),
        (["--pcap", "bottleneck=out/theory.svg", "--with-theory"], "--pcap bottleneck, -o: two files cannot both be"),
        (["--pcap", "bottleneck=x", "--qlog", "1=x"], "--pcap bottleneck, --qlog 1: two files cannot both be {}/x"),
        (["--qlog", "1=a", "--time-sequence", "1={}/a"], "--time-sequence 1, --qlog 1: two files cannot both be {}/a"),
        (
            ["--qlog", "1=out/bottleneck.pcapng", "--pcap", "bottleneck"],
            "--qlog 1, --pcap bottleneck: two files cannot",
        ),
        (["--pcap", "bottleneck=out"], "-o, --pcap bottleneck: {}/out cannot be both a folder and a file"),
        (
            ["--qlog", "1=x/a.sqlog", "--pcap", "bottleneck=x"],
            "--qlog 1, --pcap bottleneck: {}/x cannot be both a folder",
        ),
    ],
)
def test_no_file_is_written_twice(tmp_path: Path, words: list[str], told: str, sluicegate: Program) -> None:
    tmp_path.joinpath("link").symlink_to("out")
    here = str(tmp_path.resolve())
    done = sluicegate("run", "choke1999", "-o", "out", *(word.replace("{}", here) for word in words))
    assert done.returncode == 2
    assert told.replace("{}", here) in done.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["link"]


def test_figures_have_the_form_of_their_name(tmp_path: Path, sluicegate: Program) -> None:
    tmp_path.joinpath("a.toml").write_text(MIXED)
    asked = [word for name in ("a.png", "a.pdf", "b.png", "b.pdf") for word in ("--time-sequence", f"2={name}")]
    done = sluicegate("run", "a.toml", "-q", *asked)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")
    for form in ("png", "pdf"):
        assert (tmp_path / f"a.{form}").read_bytes() == (tmp_path / f"b.{form}").read_bytes()
        assert b"atplotlib" not in (tmp_path / f"a.{form}").read_bytes()
