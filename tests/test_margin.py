"""Shapers of an access line: how far below its rate they stay, and that what is deployed is what was simulated."""

from __future__ import annotations

import html
import json
import math
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from conftest import Program

import sluicegate as sg
from sluicegate.deploy import Access
from sluicegate.deploy.formats import FORMATS
from sluicegate.experiments import margin
from sluicegate.experiments.disciplines import Choice
from sluicegate.quantities import in_base_unit

SHORT = ["--seeds", "2", "--set", "run.duration=10 s", "--set", "run.warmup=3 s"]


@pytest.mark.full
def test_a_home_is_led_to_its_pair_of_lines_by_output_alone(sluicegate: Program, tmp_path: Path) -> None:
    """100 Mbit/s down, 20 up, eight downloads, uploads, web and a game: what is printed names the next command each."""
    measured = ["--rtt", "20 ms", "--rtt-up", "270 ms"]
    line = ["--down", "95.5 Mbit/s", "--up", "19.1 Mbit/s", *measured, "--users", "8", "--calls", "1", "--uploads", "2"]
    made = sluicegate("new", "home", *line, "-o", "home.toml").stdout
    ran, advised = re.findall(
        r"[:;] sluicegate (run|recommend) home\.toml(?=;| --deployable openwrt --wan NAME$)", made, re.M
    )
    today = sluicegate(ran, "home.toml").stdout
    assert int(re.findall(r"latency under load \+(\d+) ms: D", today)[0]) > 200

    asked = [advised, "home.toml", "--deployable", "linux", "--wan", "wan0"]
    found = sluicegate(*asked, "--disciplines", "drop_tail,codel,fq_codel,cake", *SHORT, "-o", tmp_path / "out")
    assert found.returncode == 0, found.stderr
    assert not re.search(r"^  \d+  \S|^  download at ", found.stdout, re.MULTILINE), (
        "neither goals nor rates are listed"
    )
    assert "not run" not in found.stdout.replace("were not run", "")
    whole = sluicegate(
        *asked, "--disciplines", "drop_tail,codel,fq_codel,cake", *SHORT, "-o", tmp_path / "out", "--all"
    )
    assert whole.stdout.count("\n") > found.stdout.count("\n") + 15
    said = whole.stdout
    assert said.splitlines()[0] == found.stdout.splitlines()[0]
    verdict = said.splitlines()[0]
    assert re.match(
        r"cake.* all goals are kept\. Latency under load: today \+\d+ ms \(D\), with cake \+\d\S* ms \(A\+?\), "
        r"and \+\d\S* ms \(A\+?\) if the line is 5 % slower than the file says\. The commands are at the end\.$",
        verdict,
    ), "a line that is 5 % slower does not break what is printed"
    assert re.search(
        r"in these shapers, if the line carries less .* 5 % less: \+\d\S* ms, A\+?; 10 % less: \+\d+ ms, [CD]\. "
        r'--margin "\d+ %,10 %" leaves room',
        said,
        re.MULTILINE,
    ), "the modem fills again"
    chosen = (
        r"^shapers at (\S+) % of the download and (\S+) % of the upload: 5 % below the highest rates that keep the "
        r'queue out of the modem \((\S+) % and (\S+) %\), because .* estimates\. .* --margin "(\d+) %,(\d+) %"$'
    )
    down_part, up_part, most_down, most_up, *exact = map(float, re.findall(chosen, said, re.MULTILINE)[0])
    assert 90 <= most_down < 100
    assert most_up == 100, "it leaves this host as fast as the line takes it; the download has waited already"
    assert exact == [100 - most_down, 0]
    assert "at most 50 ms more than the 9 ms without load" in said, "so that bounds of 59 ms can be followed"
    assert (down_part, up_part) == (0.95 * most_down // 1, 95)
    assert re.search(r"^  download at 100 %: [\d.]+ ms at the provider \(more than 5\.61 ms\)", said, re.MULTILINE), (
        "the evidence: at 100 % it is there"
    )
    assert re.search(r"^  today: drop_tail .* load \+\d+ ms: D$", said, re.MULTILINE)
    assert re.search(r"^  cake .* load \+\d\.\d ms: A\+?$", said, re.MULTILINE)
    up, down = re.findall(r"^  (tc qdisc add .* cake .*?)(?: &&)?$", said, re.MULTILINE)
    rates = [in_base_unit(f"{number} {'Mbit/s' if unit == 'Mbit' else 'kbit/s'}") for number, unit in
             (re.findall(r"bandwidth (\d+)(Mbit|kbit)", each)[0] for each in (up, down))]  # fmt: skip
    assert rates == [round(20.02e6 * up_part / 100), round(100.1e6 * down_part / 100)]
    assert " dev wan0 root " in up
    assert up.endswith(" overhead 18 mpu 64 egress")
    assert " dev ifb4wan0 root " in down
    assert down.endswith(" overhead 18 mpu 64 ingress")
    assert all(" nat " in each for each in (up, down))
    assert "redirect dev ifb4wan0" in said

    assert f'--margin "{100 - down_part:g} %,5 %"' in said
    assert_same_lines(sluicegate, said)

    done = sg.Recommendation.read(tmp_path / "out")
    network = done.comparison.summary["scenario"]["network"]
    simulated = [in_base_unit(way["shaper"]["rate"]) for way in (network["reverse"], network)]
    assert simulated == rates, "what was simulated is what is deployed"
    assert done.line is not None
    assert done.line.margin is not None
    assert done.line.margin.parts == {"download": most_down / 100, "upload": 1.0}
    assert done.line.increase_ns is not None
    assert done.line.increase_ns > 200e6


def test_a_margin_that_is_given_is_taken(sluicegate: Program, tmp_path: Path) -> None:
    (tmp_path / "home.toml").write_text(sg.access_line(down="40 Mbit/s", up="10 Mbit/s"))
    asked = ["--disciplines", "cake", "--wan", "wan0", "--margin", "20 %", "--seeds", "1", *SHORT[2:]]
    said = sluicegate("recommend", "home.toml", *asked).stdout
    assert json.loads(sluicegate("recommend", "home.toml", *asked, "--json", "-q").stdout)["recommended"] == ["cake"]
    assert "shapers at" not in said
    assert re.findall(r" cake bandwidth (\S+)", said) == ["8Mbit", "32Mbit"]
    assert_same_lines(sluicegate, said)


def assert_same_lines(sluicegate: Program, said: str) -> None:
    """That the command below the lines of a recommendation prints them."""
    shown = re.findall(r"^  ((?:tc|ip) .*)$", said, re.MULTILINE)
    [command, own] = re.findall(r"^  sluicegate (tc .*) --format (\w+)$", said, re.MULTILINE)[0]
    again = sluicegate(*shlex.split(command)).stdout
    assert [line for line in again.splitlines() if not line.startswith("#")] == shown
    [named] = re.findall(
        r"^for other routers: --format (.+); without --format: the commands above, with all remarks$",
        said,
        re.MULTILINE,
    )
    fitting = {"tc", own, *named.split(" or --format ")}
    for name in FORMATS:
        assert sluicegate(*shlex.split(command), "--format", name).returncode == (0 if name in fitting else 2), name


@pytest.mark.parametrize("queue", ["red", "drop_tail", "fq_codel:target=8 ms"])
def test_the_command_below_the_lines_writes_the_same(sluicegate: Program, tmp_path: Path, queue: str) -> None:
    (tmp_path / "home.toml").write_text(sg.access_line(down="40 Mbit/s", up="3 Mbit/s", users=1, calls=0))
    asked = ["--disciplines", queue, "--wan", "wan0", "--lan", "br0", "--margin", "7.5 %", "--seeds", "1"]
    more = ["--set", "run.duration=3 s", "--set", "run.warmup=1 s", "--set", "network.delay=20 ms"]
    answer = sluicegate("recommend", "home.toml", *asked, *more)
    assert answer.returncode == 0, answer.stderr
    assert_same_lines(sluicegate, answer.stdout)


def test_shapers_of_the_scenario_are_taken_as_they_are() -> None:
    own = {"network.shaper.rate": "30 Mbit/s", "network.reverse.shaper.rate": "90 %"}
    text = sg.access_line(down="40 Mbit/s", up="10 Mbit/s", users=1, calls=0)
    run = {"disciplines": "cake", "seeds": 1, "duration": "5 s", "warmup": "2 s", "sets": own}
    done = sg.recommend(text, access=Access(wan="wan0"), **run)  # type: ignore[arg-type]
    assert re.findall(r" cake bandwidth (\S+)", done.deployment("cake").text()) == ["9Mbit", "30Mbit"]
    with pytest.raises(sg.ScenarioError, match="margin: the shapers of the scenario say their rates"):
        sg.recommend(text, access=Access(wan="wan0", margin=0.1), **run)  # type: ignore[arg-type]


def test_of_a_rate_that_varies_it_is_said_that_no_fixed_one_does() -> None:
    text = sg.access_line(up="5 Mbit/s", access="lte", users=1, calls=1)
    done = sg.recommend(
        text, disciplines="fq_codel,cake", seeds=1, duration="20 s", warmup="4 s", access=Access(wan="wwan0")
    )
    assert done.line is not None
    assert done.line.margin is not None
    assert done.line.margin.parts == {"download": None, "upload": 0.95}
    first, _, *evidence = done.line.margin.lines()
    assert first.startswith("the rate of bottleneck varies: no fixed rate keeps the queue out of the modem")
    assert len(evidence) == len(margin.VARYING)
    for queue in ("fq_codel", "cake"):
        said = done.deployment(queue)
        assert re.match(
            r"none of the rates tried keeps the wait of the download at the provider below 7.4 ms; 99 % of packets "
            r"wait at most: \d+.* at 95 %, .* at 40 %; --margin chooses another rate$",
            said.remarks[0],
        )
        assert f"# {said.remarks[0]}\n" in said.text()
    up, *_, down = done.deployment("cake").lines
    assert down.endswith(" autorate-ingress ingress")
    assert "autorate" not in up


def test_of_a_satellite_it_is_said_that_its_rate_varies_though_the_file_s_does_not() -> None:
    text = sg.access_line(down="20 Mbit/s", up="3 Mbit/s", access="satellite", users=1, calls=0)
    assert "no fixed margin below it is always enough" in next(line for line in text.splitlines() if "rate =" in line)
    done = sg.recommend(text, disciplines="cake", seeds=1, duration="20 s", warmup="5 s", access=Access(wan="sat0"))
    assert done.line is not None
    assert done.chosen("cake") == {"rtt": "600 ms"}
    assert all(" rtt 600ms " in line for line in done.deployment("cake").lines if " cake " in line)
    margin = done.line.margin
    assert margin is not None
    assert (margin.varying, margin.radio) == ((), ("bottleneck", "reverse"))
    assert margin.deployed["upload"] == math.floor(95 * (margin.parts["upload"] or 0)) / 100 > 0
    assert "5 % below the highest rates that keep the queue out of the modem" in done.line.text()[0]
    told = "packets are lost in bursts on bottleneck and reverse, as on radio links. The rate of such links also "
    assert any(told in each for each in done.line.text())
    assert told in done.deployment("cake").remarks[0]


def test_rates_are_tried_with_the_values_that_are_deployed(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Choice] = []

    def compare(*given: Any, disciplines: list[Choice], **more: Any) -> sg.Comparison:
        seen.extend(disciplines)
        return sg.compare(*given, disciplines=disciplines, **more)

    monkeypatch.setattr(margin, "compare", compare)
    text = sg.access_line(down="20 Mbit/s", up="3 Mbit/s", access="satellite", users=1, calls=0)
    done = sg.recommend(text, disciplines="cake", seeds=1, duration="60 s", warmup="20 s", access=Access(wan="sat0"))
    assert len(seen) >= 2
    assert {each.values for each in seen} == {(("rtt", "600 ms"),)}
    assert done.line is not None
    assert done.line.margin is not None
    found = done.line.margin
    [chosen] = [each for each in found.tried if each.parts == found.parts]
    assert found.late(chosen) == []
    round_trip, packet = 600e6 / 20, 1500 * 8e9  # a packet of the other direction, behind which acknowledgements wait
    assert found.little == {
        "download": pytest.approx(round_trip + packet / 3e6), "upload": pytest.approx(round_trip + packet / 20e6),
    }  # fmt: skip


def test_today_has_the_buffer_that_was_measured_in_each_direction(sluicegate: Program) -> None:
    """90 ms down and 260 up; one limit for both made today three times as bad for calls down."""
    line = ["--down", "20 Mbit/s", "--up", "10 Mbit/s", "--rtt", "20 ms", "--rtt-down", "110 ms", "--rtt-up", "280 ms"]
    sluicegate("new", "home", *line, "--users", "1", "--calls", "1", "--uploads", "0", "-o", "home.toml")
    asked = ["recommend", "home.toml", "--wan", "w", "--margin", "5 %", "--disciplines", "cake", "--seeds", "1"]
    both = sluicegate(*asked, *SHORT[2:]).stdout
    one = sluicegate(*asked, *SHORT[2:], "--set", "queue.drop_tail.limit=260 ms").stdout
    own, larger = (int(re.findall(r"^  today: drop_tail .* \+(\d+) ms", said, re.M)[0]) for said in (both, one))
    assert 0 < own <= 90 < larger <= 260


def test_what_is_no_better_than_today_is_told(sluicegate: Program, tmp_path: Path) -> None:
    """The modem's own queue in a shaper of half the rate, where it takes twice as long."""
    (tmp_path / "home.toml").write_text(sg.access_line(down="20 Mbit/s", up="5 Mbit/s", users=1, calls=0))
    asked = ["recommend", "home.toml", "--wan", "w", "--margin", "50 %", "--seeds", "1", *SHORT[2:]]
    said = sluicegate(*asked, "--disciplines", "drop_tail:limit=250 kB").stdout
    told = (
        r"no better than today: with drop_tail:limit=250 kB latency under load grows by (\d+) ms, today by (\d+) ms; "
    )
    [(then, today)] = set(re.findall(told, said))
    assert int(then) >= int(today)
    assert len(re.findall(told, said)) == 2, "beside the grades, and beside the lines"
    assert said.startswith("Worse than today: latency under load: today ")
    assert "no better" not in sluicegate(*asked, "--disciplines", "cake").stdout


def test_each_direction_has_the_thresholds_of_its_own_rate() -> None:
    text = sg.access_line(down="100 Mbit/s", up="4 Mbit/s", users=2, calls=0)
    done = sg.recommend(
        text, disciplines="red", seeds=1, duration="6 s", warmup="2 s", access=Access(wan="w", margin=0.1)
    )
    down, up = done.chosen("red"), done.chosen_up("red")
    assert int(up["limit"]) < int(down["limit"])
    assert int(up["max_th"]) < int(down["max_th"])
    lines = [line for line in done.deployment("red").lines if " red " in line]
    most = [int(re.findall(r" max (\d+)", line)[0]) for line in lines]
    assert most[0] == pytest.approx(int(up["max_th"]) * 1500, rel=0.1)
    assert most[1] == pytest.approx(int(down["max_th"]) * 1500, rel=0.1)


def test_the_text_of_what_was_tried_says_where_the_queue_is() -> None:
    parts = {"download": 0.98, "upload": 1.0}
    tried = margin.Tried(parts, {"download": 2.5e8, "upload": 0.0}, {"download": 0.0, "upload": 5e6})
    assert tried.text({"download": 5e6, "upload": 5e6}) == (
        "download at 98 %: 250.0 ms at the provider (more than 5 ms), 0.0 ms in the shaper; upload at 100 %: 0.0 ms in "
        "the modem, 5.0 ms in the shaper"
    )
    found = margin.Margin("cake", (tried,), dict(parts), {"download": 5e6, "upload": 5e6})
    assert found.late(tried) == ["download"]
    assert margin.read(found.record()) == found


def test_what_a_low_rate_costs_is_said_and_where_none_holds_the_shapers_leave_room() -> None:
    def found(parts: dict[str, float | None], waits: dict[float, float]) -> margin.Margin:
        tried = [
            margin.Tried(
                {"download": part, "upload": 1.0}, {"download": wait, "upload": 0.0}, {"download": 0.0, "upload": 0.0}
            )
            for part, wait in waits.items()
        ]
        return margin.Margin("cake", tuple(tried), parts, {"download": 5e6, "upload": 5e6})

    dear = found({"download": 0.7, "upload": 1.0}, {1.0: 2.5e8, 0.95: 7e6, 0.7: 4.2e6})
    assert dear.deployed == {"download": 0.66, "upload": 0.95}
    assert dear.price() == [
        "The shaper takes 34 % of the download; if it took 5 %, 99 % of packets would wait up to 7.0 ms at the "
        "provider."
    ]
    assert found({"download": 0.95, "upload": 1.0}, {1.0: 2.5e8, 0.95: 4e6}).price() == [], "10 %"
    none = found({"download": None, "upload": 1.0}, {1.0: 2.5e8, 0.95: 15.9e6, 0.7: 7.1e6})
    assert none.deployed == {"download": 0.9, "upload": 0.95}, "both with room for a line that is 5 % slower"
    assert none.lines()[0].startswith("shapers at 90 % of the download and 95 % of the upload: lower rates hardly ")
    assert "no fixed rate" not in " ".join(none.lines()), "as of a line whose rate varies"
    assert "below 5 ms; 99 % of packets wait at most: 250 ms at 100 %, 7.1 ms at 70 %" in none.remarks()[0]


def test_a_slow_upload_does_not_take_the_download_s_rate() -> None:
    """Acknowledgements wait behind packets of 6 ms each and leave together; lower rates would hardly change that."""
    text = sg.access_line(down="50 Mbit/s", up="2 Mbit/s", rtt="30 ms", users=4, calls=0, buffer_ms=270)
    done = sg.recommend(
        text,
        disciplines="cake",
        seeds=1,
        duration="15 s",
        warmup="5 s",
        access=Access(wan="wan"),
        goals="game up p99 least",
    )
    assert done.line is not None
    assert done.line.margin is not None
    assert min(done.line.margin.deployed.values()) >= 0.9
    assert done.line.margin.price() == []


def a_call_that_flows_queues_drop() -> str:
    """It sends more than its share of an upload, so that CoDel keeps its goals and CAKE does not."""
    text = sg.access_line(down="100 Mbit/s", up="20 Mbit/s", users=12, calls=1, uploads=8)
    return text.replace("1.5 Mbit/s", "3 Mbit/s").replace("host = 1", "#")


def test_the_margin_of_one_discipline_is_not_taken_for_another_s(sluicegate: Program, tmp_path: Path) -> None:
    """CoDel is best at a rate that was found under CAKE; with it most of the download's queue is in the modem."""
    (tmp_path / "case.toml").write_text(a_call_that_flows_queues_drop())
    asked = ["recommend", "case.toml", "--wan", "wan0", *SHORT, "--seeds", "1", "-o", "out"]
    asked += ["--goal", "calls up loss below 1 %"]
    said = sluicegate(*asked, "--disciplines", "codel,l4s_step,cake").stdout
    assert "codel and l4s_step: both will do" in said
    told = r"with codel deployed, 99 % of all packets \(transfers included\) wait at most: download at "
    told += r"\d+ %: [\d.]+ ms at the provider.*: the queue is in the modem$"
    assert re.search(told, said, re.MULTILINE)
    assert "or have no command; the next in the ranking without this problem: cake\nto try cake on Linux" in said
    assert "for the commands of" not in said
    assert_same_lines(sluicegate, said)
    done = sg.Recommendation.read(tmp_path / "out")
    assert done.best() == ["codel", "l4s_step"]
    assert done.recommended() == ["cake", "codel", "l4s_step"]
    assert "ms in the modem at this margin" in done.deployment("codel").text()
    assert "at this margin" not in done.deployment("cake").text()


def test_cake_heeds_the_mark_of_a_call() -> None:
    """AF41 is best effort to CAKE's default, diffserv3: a call with more than its share is lost all the same."""
    text = a_call_that_flows_queues_drop().replace('name = "calls up"', 'name = "calls up"\nclass = 34')
    done = sg.recommend(text, disciplines="cake", seeds=1, access=Access(wan="w", margin=0.05))
    assert done.chosen("cake") == {}
    assert done.chosen_up("cake") == {"diffserv": "diffserv4"}
    assert done.comparison.mean("cake", "calls up_loss_ratio")["mean"] == 0
    up, *_, down = (line for line in done.deployment("cake").lines if " cake " in line)
    assert " diffserv4 " in up
    assert " diffserv3 " in down
    advice = "unless the keys host or class (its DSCP) tell them who sends it; for CAKE, set class to 46 (EF) with its "
    assert not any(advice in note for note in done.notes), "one is set"
    unmarked = sg.recommend(a_call_that_flows_queues_drop(), disciplines="cake", seeds=1)
    assert any(f"{advice}default, to 34 (AF41) with diffserv4" in note for note in unmarked.notes)
    plain = sg.recommend(text, disciplines="cake:diffserv=diffserv3", seeds=1, access=Access(wan="w", margin=0.05))
    assert plain.comparison.mean(plain.best()[0], "calls up_loss_ratio")["mean"] > 0.1


@pytest.mark.full
def test_where_the_best_asks_for_other_rates_all_are_ranked_with_these(tmp_path: Path) -> None:
    """Under CoDel no rate holds, but under SFQ, which is best here."""
    text = sg.access_line(down="100 Mbit/s", up="20 Mbit/s", users=12, calls=1, uploads=8)
    run = {"out": tmp_path / "out", "seeds": 1, "duration": "15 s", "warmup": "5 s"}
    done = sg.recommend(text, disciplines="codel,sfq", goals="web response p50 least", access=Access(wan="w"), **run)  # type: ignore[arg-type]  # fmt: skip
    assert done.best() == ["sfq"]
    assert sg.Recommendation.read(tmp_path / "out").record() == done.record()
    assert done.line is not None
    assert done.line.margin is not None
    assert done.line.margin.discipline == "sfq"
    rates = dict(done.line.shapers)
    network = done.comparison.summary["scenario"]["network"]
    part = done.line.margin.deployed["download"]
    assert rates["network.shaper.rate"] == f"{100 * part:g} %"
    assert in_base_unit(network["shaper"]["rate"]) == round(1e8 * part)


def test_of_openwrt_only_what_its_package_has_is_tried(sluicegate: Program, tmp_path: Path) -> None:
    (tmp_path / "home.toml").write_text(sg.access_line(down="40 Mbit/s", up="10 Mbit/s", users=1, calls=1))
    asked = ["recommend", "home.toml", "--deployable", "openwrt", "--wan", "wan", "--margin", "5 %", *SHORT]
    asked += ["--goal", "calls up p99 below 100 ms"]  # which both keep
    answer = sluicegate(*asked, "--seeds", "1", "-o", "out")
    assert answer.returncode == 0, answer.stderr
    done = sg.Recommendation.read(tmp_path / "out")
    assert sorted(done.comparison.disciplines) == ["cake", "fq_codel"]
    assert (
        "on OpenWrt with the package sqm-scripts until the router restarts, stop SQM and run as root:" in answer.stdout
    )
    [command] = re.findall(r"^  sluicegate (tc .* --format openwrt)$", answer.stdout, re.MULTILINE)
    assert sluicegate(*shlex.split(command)).stdout.startswith("config queue 'sluicegate'")
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    answers = page.partition("</header>")[0]
    assert re.search(r"Latency under load: today \+\d+ ms \([A-F]\), with \w+ \+\d", answers), (
        "the answer stands on top"
    )
    assert page.index('id="load"') < page.index('id="deploy"') < page.index('id="ranking"')
    assert page.count("today, without shapers") == 1
    bare = command.removesuffix(" --format openwrt")
    assert f"As a router's own file: sluicegate {bare}, with --format openwrt or " in html.unescape(page)
    second = done.recommended()[1]
    assert f"<summary>{second}, on OpenWrt with the package sqm-scripts, as root</summary>" in page, "folded"


def test_a_goal_that_is_none_is_told_before_anything_else(sluicegate: Program, tmp_path: Path) -> None:
    (tmp_path / "home.toml").write_text(sg.access_line(down="100 Mbit/s", up="20 Mbit/s"))
    answer = sluicegate("recommend", "home.toml", "--wan", "wan", "--goal", "voip p99 below 3 ms")
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr.startswith('error: goal "voip p99 below 3 ms": no such group')
