"""`sluicegate theory choke`, `theory candidates` and `run --with-theory`, as a user meets them."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import polars as pl
import pytest
from conftest import Program

from sluicegate.cli.theory import FILES
from sluicegate.theory import choke

ASKED = ["theory", "choke", "--tcp", "32", "--udp", "0.1..10 Mbit/s", "--rate", "1 Mbit/s", "--rtt", "100ms"]

PAPER = """\
[network]
rate = "1 Mbit/s"
delay = "50 ms"
access_rate = "100 Mbit/s"

[queue]
discipline = "choke"
min_th = 20
max_th = 520
max_p = 0.5
limit = 1000

[[flows]]
kind = "tcp"
count = 32
algorithm = "newreno"
profile = "ns2"
window = 100

[[flows]]
kind = "udp"
rate = "2 Mbit/s"

[run]
duration = "120 s"
warmup = "20 s"
"""


@pytest.fixture
def paper(tmp_path: Path) -> Path:
    path = tmp_path / "paper.toml"
    path.write_text(PAPER)
    return path


def test_the_table_says_what_the_model_says(sluicegate: Program) -> None:
    done = sluicegate(*ASKED)
    assert (done.returncode, done.stderr) == (0, "")
    rows = [line.split() for line in done.stdout.splitlines()]
    table = [[float(cell) for cell in row] for row in rows if len(row) == 8 and row[0][0].isdigit()]
    assert len(table) >= 13
    assert [row[0] for row in (table[0], table[-1])] == [100, 10_000]
    for rate, share, _, per_flow, queue, *_ in table[:1] + table[-1:]:
        eq = choke.equilibrium(rate / 8, N=32, c=125.0, f=choke.Reno(0.1), g=choke.Red(20, 520, 0.5))
        assert share == pytest.approx(100 * eq.share, abs=0.06)
        assert queue == pytest.approx(eq.b, abs=0.06)
        assert per_flow == pytest.approx(eq.tcp.through * 8, abs=0.06)
    assert "UDP's share is greatest, 24.9 %" in done.stdout
    assert "with many TCP flows UDP never has more than 26.9 % (Theorem 1)" in done.stdout
    assert "warning" not in done.stdout


@pytest.mark.drawn
def test_everything_is_written_or_nothing(sluicegate: Program, tmp_path: Path) -> None:
    done = sluicegate(*ASKED, "--points", "50", "-o", "out")
    assert done.returncode == 0
    out = tmp_path / "out"
    assert sorted(path.name for path in out.iterdir()) == sorted(FILES)
    table = pl.read_parquet(out / "curve.parquet")
    assert table.height == 50
    assert table["udp_share"].max() == pytest.approx(0.2486, abs=1e-3)
    assert table["approximate_udp_share"].max() == pytest.approx(0.268, abs=1e-3)
    assert table["refusal"].null_count() == 50
    summary = json.loads((out / "summary.json").read_text())
    assert summary["least_tcp_flows"] == pytest.approx(8.083, abs=1e-3)
    assert summary["worst_share_of_many_tcp_flows"] == pytest.approx(0.2689, abs=1e-4)
    ElementTree.parse(out / "theory.svg")
    again = sluicegate(*ASKED, "--points", "50", "-o", "again")
    assert again.returncode == 0
    for name in FILES:
        assert (out / name).read_bytes() == (tmp_path / "again" / name).read_bytes()
    (tmp_path / "file").write_text("")
    refused = sluicegate(*ASKED, "-o", "file/below")
    assert refused.returncode == 2
    assert "file" in refused.stderr


def test_json_has_every_point(sluicegate: Program) -> None:
    done = json.loads(sluicegate(*ASKED, "--json", "--points", "7").stdout)
    assert len(done["points"]) == 7
    assert done["points"][0]["udp_rate_bps"] == pytest.approx(1e5)
    assert done["points"][-1]["udp_rate_bps"] == pytest.approx(1e7)
    assert done["peak"]["udp_share"] == max(point["udp_share"] for point in done["points"])
    assert done["queue"] == {"min_th": 20, "max_th": 520, "max_p": 0.5, "candidates": 1}


def test_several_flows_and_candidates(sluicegate: Program) -> None:
    done = json.loads(sluicegate(*ASKED, "--flows", "5", "--candidates", "6", "--points", "5", "--json").stdout)
    assert done["worst_share_of_many_tcp_flows"] == pytest.approx(choke.worst_share(5, 6))
    assert all(point["approximate_udp_share"] is None for point in done["points"])
    assert done["points"][-1]["udp_share"] < 0.05
    text = sluicegate(*ASKED, "--flows", "5", "--candidates", "6").stdout
    assert "5 UDP flows" in text
    assert "Theorem 1, generalised" in text


def test_what_the_model_does_not_cover_is_marked(sluicegate: Program) -> None:
    held = sluicegate(*ASKED, "--max-th", "60", "--max-p", "0.02")
    assert held.returncode == 0
    assert "60.0*" in held.stdout
    assert "warning: * the queue is held at max_th" in held.stdout
    few = sluicegate("theory", "choke", "--tcp", "9", *ASKED[4:], "--points", "20")
    assert few.returncode == 0
    assert "warning: CHOKe needs about 8.1 TCP flows" in few.stdout
    assert "points have no answer; the first: CHOKe would not stay active" in few.stdout


def test_what_is_said_of_few_flows_is_said_only_where_it_holds(sluicegate: Program) -> None:
    """The estimate of Sec. VI is of one UDP flow, one candidate, and TCP that follows a square root."""
    few = ("theory", "choke", "--tcp", "12", *ASKED[4:], "--points", "9")
    assert "CHOKe needs about 8.1" in sluicegate(*few).stdout
    for other in (("--flows", "3"), ("--candidates", "2"), ("--law", "vegas")):
        assert "CHOKe needs about" not in sluicegate(*few, *other).stdout, other
    assert (
        "CHOKe needs about 8.1 TCP flows here by the paper's estimate. More TCP"
        in sluicegate("theory", "choke", "--tcp", "5", *ASKED[4:]).stderr
    )


def test_flows_that_can_take_the_link_are_said_to(sluicegate: Program) -> None:
    done = sluicegate(*ASKED, "--flows", "5", "--points", "9")
    assert "5 UDP flows can fill the queue and take the whole link: 3 candidates prevent that" in done.stdout
    assert "100.0 % (Theorem" not in done.stdout


def test_a_peak_is_named_only_where_it_is_known(sluicegate: Program) -> None:
    few = sluicegate("theory", "choke", "--tcp", "7", *ASKED[4:], "--points", "20")
    assert "the model has an answer at 2 of 20 rates, too few to say where the peak is" in few.stdout
    assert "UDP's share is greatest" not in few.stdout


VEGAS = """\
[network]
rate = "15 Mbit/s"
delay = "50 ms"

[queue]
discipline = "choke"
min_th = 20
max_th = 1020
max_p = 0.1
limit = 4000

[[flows]]
kind = "tcp"
count = 50
algorithm = "vegas"
profile = "ns2"

[[flows]]
kind = "udp"
rate = "20 Mbit/s"

[run]
duration = "6 s"
warmup = "3 s"
"""


def test_vegas_has_one_column_and_a_warning_where_it_cuts_its_window(sluicegate: Program, tmp_path: Path) -> None:
    (tmp_path / "vegas.toml").write_text(VEGAS)
    done = sluicegate("run", "vegas.toml", "--with-theory", "-o", "out")
    assert "theory: Vegas, α/τ" in done.stdout
    assert "Reno" not in done.stdout
    assert "warning: theory: flows.0.vegas_cut = 0.25" in done.stdout
    record = json.loads((tmp_path / "out" / "theory.json").read_text())
    assert list(record["refusals"]) == ["vegas"]
    assert len(record["warnings"]) == 1
    ElementTree.parse(tmp_path / "out" / "theory.svg")
    assert (
        "warning: theory" not in sluicegate("run", "vegas.toml", "--with-theory", "--set", "flows.0.vegas_cut=0").stdout
    )


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"--tcp": "5"}, "tcp = 5: CHOKe would not stay active: with 5 TCP flows the queue does not reach 20 packets"),
        ({"--tcp": "0"}, "tcp = 0: must be a whole number, from 1 to 1000000"),
        ({"--udp": "2..1 Mbit/s"}, "the first rate of a range must be below the last"),
        ({"--udp": "1..x Mbit/s"}, "udp = "),
        ({"--udp": "1 s"}, 'udp = "1 s"'),
        ({"--udp": "0 bit/s"}, "must be above 0"),
        ({"--udp": "10000000 Gbit/s"}, "udp = "),
        ({"--rate": "fast"}, 'rate = "fast"'),
        ({"--rtt": "100"}, "rtt = "),
        ({"--min-th": "1"}, "--min-th = 1: must be at least 2 packets"),
        ({"--max-th": "20"}, "--max-th = 20: must be above min_th, 20"),
        ({"--max-p": "0"}, "--max-p = 0: must be above 0 and at most 1"),
        ({"--max-p": "nan"}, "--max-p = nan"),
        ({"--candidates": "65"}, "candidates = 65: must be a whole number, from 1 to 64"),
        ({"--law": "cubic"}, "law = cubic: no such law of TCP; known: reno, simple, padhye, vegas"),
        ({"--alpha": "0", "--law": "vegas"}, "alpha = 0: must be above 0 packets"),
        ({"--points": "0"}, "points = 0: must be a whole number"),
    ],
)
def test_a_wrong_value_is_one_line_and_exit_2(sluicegate: Program, changed: dict[str, str], message: str) -> None:
    options = dict(zip(ASKED[2::2], ASKED[3::2], strict=True)) | changed
    done = sluicegate("theory", "choke", *(part for pair in options.items() for part in pair))
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1


def test_candidates_are_tabled_and_drawn(sluicegate: Program, tmp_path: Path) -> None:
    done = sluicegate("theory", "candidates", "--flows", "5", "-o", "m.svg")
    assert done.returncode == 0
    [row] = [line.split() for line in done.stdout.splitlines() if line.split()[:1] == ["5"]]
    assert row == ["5", *(str(choke.candidates_for(5, share)) for share in (0.5, 0.25, 0.1, 0.05))]
    ElementTree.parse(tmp_path / "m.svg")
    rows = json.loads(sluicegate("theory", "candidates", "--flows", "2", "--share", "30", "--json").stdout)
    assert rows[1] == {"flows": 2, "candidates": {"0.3": 2}}
    wrong = sluicegate("theory", "candidates", "--share", "100")
    assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1)


# --- run --with-theory --------------------------------------------------------------------------


def test_the_model_beside_a_run(sluicegate: Program, paper: Path, tmp_path: Path) -> None:
    """One run of two minutes; shares come within two points, and the queue within a tenth with timeouts counted."""
    done = sluicegate("run", paper, "--with-theory", "-o", "out")
    assert (done.returncode, done.stderr) == (0, "")
    assert "theory: Reno with timeouts" in done.stdout
    out = tmp_path / "out"
    assert {"theory.json", "theory.svg", "summary.json", "flows.parquet"} <= {path.name for path in out.iterdir()}
    ElementTree.parse(out / "theory.svg")
    record = json.loads((out / "theory.json").read_text())
    assert record["groups"] == ["32 tcp newreno", "udp"]
    found = {(quantity["name"], quantity["group"]): quantity for quantity in record["quantities"]}
    for law in ("reno", "padhye"):
        assert found["share", 1]["theory"][law] == pytest.approx(found["share", 1]["measured"], abs=0.02)
        assert found["of queue", 1]["theory"][law] == pytest.approx(found["of queue", 1]["measured"], abs=0.03)
        assert found["loss", 1]["theory"][law] == pytest.approx(found["loss", 1]["measured"], abs=0.02)
    assert found["queue", None]["theory"]["padhye"] == pytest.approx(found["queue", None]["measured"], rel=0.1)
    assert found["queue", None]["theory"]["reno"] > 1.1 * found["queue", None]["measured"]
    assert record["refusals"] == {"reno": None, "padhye": None}
    text = sluicegate("run", paper, "--with-theory", "--json", "--set", "run.duration=30 s").stdout
    assert json.loads(text)["theory"]["groups"] == record["groups"]


def test_a_run_at_max_th_says_so(sluicegate: Program) -> None:
    done = sluicegate("run", "unresponsive", "--with-theory", "--set", "run.duration=30 s")
    assert done.returncode == 0
    assert "the queue is held at max_th" in done.stdout


def test_a_run_without_an_equilibrium_says_why(sluicegate: Program, paper: Path) -> None:
    done = sluicegate("run", paper, "--with-theory", "--set", "flows.0.count=3", "--set", "run.duration=30 s")
    assert done.returncode == 0
    assert "warning: theory, Reno, eq. (43): CHOKe would not stay active" in done.stdout


def test_round_trips_of_their_own_are_told_apart(sluicegate: Program, paper: Path) -> None:
    sets = ("--set", "flows.0.rtt=120 ms", "--set", "flows.0.rtt_max=500 ms", "--set", "run.duration=60 s")
    record = json.loads(sluicegate("run", paper, "--with-theory", "--json", *sets).stdout)["theory"]
    found = {(quantity["name"], quantity["group"]): quantity for quantity in record["quantities"]}
    assert found["share", 1]["theory"]["padhye"] == pytest.approx(found["share", 1]["measured"], abs=0.03)


@pytest.mark.parametrize(
    ("scenario", "change", "message"),
    [
        ("paper", "queue.discipline=red", 'paper.toml: queue.discipline: the theory is CHOKe\'s, not that of "red"'),
        ("paper", "queue.choke.draw=front", 'queue.choke.draw: must be "random"'),
        ("paper", "queue.choke.regions=8", "queue.choke.regions: must be 0"),
        ("paper", "flows.0.algorithm=fixed", 'flows.0.algorithm: the theory has no law for "fixed"'),
        ("paper", "flows.0.size=1 MB", "flows.0.size: the theory covers only flows that never end"),
        ("paper", "flows.1.packet_size=200 B", "flows.1.packet_size: must be 1000 B"),
        ("paper", "flows.1.kind=on_off", "flows.1"),
        ("topology", "queue.discipline=choke", "topology: network.links: the theory knows one bottleneck only"),
    ],
)
def test_what_the_theory_does_not_cover_is_refused_before_the_run(
    sluicegate: Program, paper: Path, tmp_path: Path, scenario: str, change: str, message: str
) -> None:
    file = paper if scenario == "paper" else scenario
    done = sluicegate("run", file, "--with-theory", "-o", "out", "--set", change)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert not (tmp_path / "out").exists()
