"""Recommending a discipline: ranking, ties, constraints, values for the link, commands, what is printed and kept."""

from __future__ import annotations

import copy
import importlib
import json
import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import Program

import sluicegate as sg
from sluicegate.cli.recommend import conclusion
from sluicegate.deploy import Undeployable, linux, linux_bpf
from sluicegate.experiments import eligible
from sluicegate.experiments.disciplines import choices
from sluicegate.experiments.suited import fitted, suited
from sluicegate.traffic.groups import Traffic

OFFICE = """\
[network]
rate = "20 Mbit/s"
delay = "10 ms"

[[flows]]
kind = "tcp"
name = "transfers"
algorithm = "cubic"
count = 50

[[flows]]
kind = "udp"
name = "voip"
count = 5
rate = "64 kbit/s"
packet_size = "200 B"

[[flows]]
kind = "udp"
name = "flood"
rate = "15 Mbit/s"

[run]
duration = "12 s"
warmup = "4 s"
"""


@pytest.fixture
def office(tmp_path: Path) -> Path:
    path = tmp_path / "office.toml"
    path.write_text(OFFICE)
    return path


@pytest.fixture(scope="module")
def advised(tmp_path_factory: pytest.TempPathFactory) -> sg.Recommendation:
    """The office with the disciplines of Linux, short."""
    path = tmp_path_factory.mktemp("office") / "office.toml"
    path.write_text(OFFICE)
    return sg.recommend(path, deployable="linux", seeds=3)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("viop p99 below 30 ms", "no such group: 'viop'; did you mean \"voip\"?"),
        ("voip p98 below 30 ms", "no such quantity of a group: 'p98'; did you mean \"p95\"?"),
        ("voip below 30 ms", "names no quantity of voip"),
        ("voip p99 below 30 parsecs", '"parsecs" is not a unit here'),
        ("voip p99 below 30", "ms"),
        ("voip loss below 1", "must be a percentage, such as 95 %"),
        ("voip loss below 101 %", "must be a percentage"),
        ("jain above much", "must be a number"),
        ("voip p99", "must be a quantity and a bound"),
        ("utilisatoin above 9 %", 'did you mean "utilisation"?'),
        ("", "must be a quantity and a bound"),
        ("voip response p50 below 1 s", "voip makes no requests"),
        ("transfers completion p50 least", "the transfers of transfers have no end"),
        ("voip p99 below 30 ms within 5 %", "a bound has no tolerance"),
        ("voip p99 least within", '"within" must be a part of the best value, an amount'),
        ("voip p99 least within 5", 'such as "within 5 % or 1 ms"'),
        ("voip p99 least within -1 ms", "not negative"),
        ("voip p99 least within 5 parsecs", 'such as "within 5 % or 1 ms"'),
        ("voip p99 least within 5 points", 'such as "within 5 % or 1 ms"'),
        ("voip p99 least within 101 %", "must be a percentage"),
        ("voip p99 least within 1 ms or 2 ms", 'such as "within 5 % or 1 ms"'),
        ("voip loss least within 1", 'such as "within 5 % or 0.1 points"'),
        ("jain most within -1", "not negative"),
        ("voip loss least within -1 points", "not negative"),
    ],
)
def test_a_mistaken_goal_is_named_before_anything_runs(
    sluicegate: Program, office: Path, tmp_path: Path, text: str, told: str
) -> None:
    answer = sluicegate("recommend", office, "--goal", text, "--set", "run.duration=100000 s", "-o", "out")
    assert (answer.returncode, answer.stdout, answer.stderr.count("error: ")) == (2, "", 1)
    assert f'goal "{text}"' in answer.stderr
    assert told in answer.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--deployable", "windows"], "--deployable windows: must be linux, openwrt, linux-bpf, freebsd"),
        (["--state", "much"], "--state much: must be none, small or any"),
        (["--disciplines", "dcn,afd", "--state", "none"], "no discipline is left: dcn remembers fixed table"),
        (["--disciplines", "chok"], 'did you mean "choke"?'),
        (["--set", "run.goals=3"], "run.goals"),
    ],
)
def test_other_mistakes(sluicegate: Program, office: Path, arguments: list[str], told: str) -> None:
    answer = sluicegate("recommend", office, *arguments)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert told in answer.stderr


HOME = """\
[network]
rate = "100 Mbit/s"
delay = "10 ms"
[[flows]]
kind = "http"
name = "web"
count = 400
think_time = "exponential(mean = 1 s)"
[[flows]]
kind = "tcp"
name = "downloads"
count = 2
[run]
duration = "6 s"
warmup = "2 s"
goals = ["web response p50 least"]
"""


def test_a_home_is_told_fq_codel_or_cake_before_fair_queueing_alone(sluicegate: Program, tmp_path: Path) -> None:
    (tmp_path / "home.toml").write_text(HOME)
    asked = ["--disciplines", "fq,fq_codel,cake", "--seeds", "3", "-o", tmp_path / "out"]
    answer = sluicegate("recommend", "home.toml", *asked)
    done = sg.Recommendation.read(tmp_path / "out")
    assert [each.label for each in done.ranking][-1] == "fq"
    assert done.ranking[-1].rank == 3
    texts = ["web response p50 least within 5 % or 1 ms", "downloads delay least within 5 % or 1 ms"]
    verdict, goals, first, meaning, equals, *_ = answer.stdout.splitlines()
    assert verdict.startswith(("cake ", "fq_codel "))
    assert verdict.endswith(": all goals are kept.")
    assert (goals, first) == ("goals:", f"  1  {texts[0]}")
    assert meaning == "  response p50: half of the requests are answered within this time"
    order = "ties are broken in this order (least: lower is better; within: such differences are ties)"
    assert equals == f"{order}: {texts[1]}, less state about flows"
    assert json.loads((tmp_path / "out" / "recommendation.json").read_bytes())["goals"] == texts[:1]
    record = done.record()
    assert (record["goals"], record["among_equals"]) == (texts[:1], [texts[1], "less state about flows"])
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert page == done.html()
    assert texts[0] in page
    assert f"Ties are broken in this order: {texts[1]}, less state about flows." in page


def test_a_tolerance_in_a_file_is_named_with_its_line(sluicegate: Program, tmp_path: Path) -> None:
    (tmp_path / "home.toml").write_text(HOME.replace("least", "least within 5 parsecs"))
    answer = sluicegate("check", "home.toml")
    assert answer.returncode == 2
    assert 'home.toml:16: run.goals: goal "web response p50 least within 5 parsecs"' in answer.stderr


def test_goals_are_assumed_for_those_who_ask_for_little_and_none_for_a_flood(advised: sg.Recommendation) -> None:
    assert advised.assumed
    assert [goal.text for goal in advised.goals] == [
        "voip loss below 1 %",
        "voip p99 below 60 ms",  # half of the base round trip of 20 ms, and 50 ms
        "transfers utilisation above 86 %",  # 0.9 of 50 shares of 56, of what calls leave
    ]
    assert advised.among_equals == ["flood delay least within 5 % or 1 ms", "less state about flows"]
    voip, flood = advised.notes
    assert voip == "voip: taken for a call or a game by name: little loss and delay are assumed to be wanted"
    assert flood.startswith("flood: no goal")


def test_those_that_keep_all_goals_are_tied_and_what_distinguishes_them_is_said(
    sluicegate: Program, office: Path, tmp_path: Path
) -> None:
    asked = [
        "--goal",
        "voip p99 below 1 s",
        "--disciplines",
        "drop_tail,fq_codel",
        "--seeds",
        "3",
        "-o",
        tmp_path / "o",
    ]
    answer = sluicegate("recommend", office, *asked)
    assert answer.stdout.startswith("fq_codel and drop_tail: both will do, all goals are kept.\ngoals:\n")
    assert "\nwhat distinguishes them:\n" in answer.stdout
    done = sg.Recommendation.read(tmp_path / "o")
    assert [(each.label, each.rank) for each in done.ranking] == [("fq_codel", 1), ("drop_tail", 1)]
    delay, *_, state = done.distinctions
    assert delay.startswith("voip p99: ")
    assert delay.endswith(" ms, least with fq_codel")
    assert state == "state about flows: drop_tail: none; fq_codel: flows queued"
    assert delay in done.html()
    least = sg.recommend(office, goals="voip p99 least", disciplines="drop_tail,fq_codel", seeds=3, out=tmp_path / "o")
    assert least.best() == ["fq_codel"], "who asks for the least is told whose that is"


def test_the_office_is_told_fq_codel_or_cake(advised: sg.Recommendation) -> None:
    """The issue's own case: these keep calls short, and leave transfers their part. With FQ-CoDel calls lose 4 to 5 %
    in 2 of the 12 seeds that are run of what may be the best, in none of the first three: that leaves its loss open."""
    kept = {each.label: each.kept for each in advised.ranking}
    assert all(kept["cake"])
    for label in ("fq_codel", "fq_pie"):
        assert kept[label] == (None, True, True)
    lost = advised.comparison.runs.filter(discipline="fq_codel")["voip_loss_ratio"]
    assert (len(lost), sum(lost > 0.01)) == (12, 2)
    assert sum(lost[:3]) == 0
    assert set(advised.best()) <= {"fq_codel", "cake", "fq_pie"}
    places = {each.label: each.rank for each in advised.ranking}
    assert max(places["fq_codel"], places["cake"]) < min(places["codel"], places["red"], places["drop_tail"])
    assert places.keys() == linux.WRITERS.keys() - {"drr", "priority", "gred"}


def test_constraints_leave_others_out_and_say_why(office: Path) -> None:
    resolved = sg.check(office)
    kept, left = eligible.eligible(resolved, "freebsd", "any", None)
    assert {each.name for each in kept} == {"drop_tail", "red", "codel", "fq_codel", "pie", "fq_pie"}
    assert left["cake"] == "is not in FreeBSD"
    kept, left = eligible.eligible(resolved, None, "none", None)
    names = {each.name for each in kept}
    assert names >= {"choke", "red", "codel", "pie"}
    assert not names & {"fq_codel", "dcn", "red_pd", "decbit"}
    assert left["fq_codel"] == "remembers flows queued"
    kept, _ = eligible.eligible(resolved, None, "small", None)
    assert {each.name for each in kept} & {"fq_codel", "dcn", "red_pd"} == {"fq_codel", "dcn"}
    drr = resolved | {"queue": {"discipline": "drr"}}
    assert "drr" in {each.name for each in eligible.eligible(drr, None, "any", None)[0]}


def test_buffers_and_thresholds_suit_the_link_unless_they_are_stated(office: Path) -> None:
    def tuned(text: str, listed: str, *sets: tuple[str, str]) -> dict[str, str]:
        office.write_text(text)
        [choice] = choices(listed)
        return suited(text, "office.toml", sets, Traffic(sg.check(office, sets=sets)), choice)

    longer = OFFICE.replace('"10 ms"', '"20 ms"')
    # 20 Mbit/s × 40 ms: 67 packets of 1500 bytes, a quarter of it the target
    assert tuned(longer, "drop_tail") == {"limit": "67"}
    assert tuned(longer, "red") == {"limit": "67", "min_th": "10", "max_th": "21"}
    assert tuned(longer, "dcn") == {"limit": "67", "q_ref": "16"}
    assert tuned(longer, "codel") == tuned(longer, "drr") == {}, "for any link; of classes"
    assert tuned(OFFICE, "drop_tail") == {"limit": "50"}, "20 ms would make 34"
    # The thresholds follow the limit that holds.
    assert tuned(OFFICE + "\n[queue]\nlimit = 300\n", "red") == {"min_th": "50", "max_th": "100"}
    assert tuned(OFFICE, "red:limit=20") == {"min_th": "3", "max_th": "6"}
    assert tuned(OFFICE + "\n[queue.red]\nmax_th = 30\n", "red") == {"limit": "50"}
    assert tuned(OFFICE, "red:max_th=5") == {"limit": "50"}
    assert tuned(OFFICE, "drop_tail", ("queue.drop_tail.limit", "9")) == {}


def test_defaults_for_any_link_give_way_where_a_trap_asks_for_a_value() -> None:
    def tuned(listed: str, *sets: tuple[str, str], down: str = "1 Mbit/s", rtt: str = "30 ms") -> dict[str, str]:
        text = sg.access_line(down=down, up="1 Mbit/s", rtt=rtt, access="dsl", users=1, calls=0)
        [choice] = choices(listed)
        return suited(text, "home.toml", sets, Traffic(sg.check(text, sets=sets)), choice)

    assert tuned("cake", down="20 Mbit/s", rtt="600 ms") == {"rtt": "600 ms"}
    assert tuned("codel", down="20 Mbit/s", rtt="600 ms") == {"interval": "600 ms"}
    assert tuned("cake:rtt=300 ms", down="20 Mbit/s", rtt="600 ms") == {}
    assert tuned("cake", ("queue.cake.rtt", "300 ms"), down="20 Mbit/s", rtt="600 ms") == {}
    assert tuned("fq_codel") == {"target": "18.6 ms"}
    assert tuned("fq_codel", down="20 Mbit/s") == tuned("pie") == tuned("cake") == {}, "15 ms; CAKE raises its own"


def test_each_direction_has_the_values_that_it_needs_or_its_defaults() -> None:
    """The upload does not inherit what the download alone needs."""

    def targets(down: str, up: str, more: str = "") -> list[str]:
        text = sg.access_line(down=down, up=up, access="dsl", users=1, calls=0) + more
        [choice] = choices("fq_codel:quantum=300 B")
        chosen, *_ = fitted(text, "home.toml", (), Traffic(sg.check(text)), choice)
        found = sg.check(text, sets=chosen.sets)
        reverse = found["network"]["reverse"].get("queue", found["queue"])
        assert reverse["quantum"] == found["queue"]["quantum"] == "300 B"
        return [found["queue"]["target"], reverse["target"]]

    assert targets("1 Mbit/s", "20 Mbit/s") == ["18600 us", "5 ms"]
    assert targets("20 Mbit/s", "1 Mbit/s") == ["5 ms", "18600 us"]
    assert targets("1 Mbit/s", "1 Mbit/s") == ["18600 us", "18600 us"]
    assert targets("20 Mbit/s", "20 Mbit/s") == ["5 ms", "5 ms"]


def test_bpf_queues_can_be_deployed_where_linux_alone_has_none(office: Path) -> None:
    """DCN is held to its packets, and keeps the flood out of the calls' way, where RED does not."""
    goal = "voip loss below 1 %"
    done = sg.recommend(office, deployable="linux-bpf", disciplines="red,dcn,pie,csfq", goals=goal, seeds=2)
    assert done.left_out == {"csfq": "is not in Linux, with BPF queues"}
    assert sorted(each.label for each in done.ranking) == ["dcn", "pie", "red"]
    assert (done.ranking[0].label, done.system) == ("dcn", "linux-bpf")
    assert "dcn, on Linux, with BPF queues, as root" in done.html()
    assert "pie" in done.deployment("pie", "eth0").lines[-1], "where there is no object, tc's own"
    with pytest.raises(Undeployable):
        done.deployment("dcn", "eth0", "linux")


def test_the_command_for_a_bpf_queue_writes_what_was_run(sluicegate: Program, office: Path, tmp_path: Path) -> None:
    listed = ["dcn:hb_flows=77", "afd"]
    done = sg.recommend(office, deployable="linux-bpf", disciplines=",".join(listed), goals="voip loss below 90 %",
                        seeds=1, duration="5 s", warmup="1 s", sets={"network.rate": "8 Mbit/s"})  # fmt: skip
    for label in listed:
        (line,) = done.deployment(label, "eth0").lines
        out = tmp_path / label.partition(":")[0]
        words = shlex.split(line.replace("-o FOLDER", f"-o {out}").replace(office.name, str(office)))
        assert words[:2] == ["sluicegate", "tc"]
        assert done.chosen(label), "there is something to say"
        assert sluicegate(*words[1:]).returncode == 0
        ran = linux_bpf.parameters(done._resolved[label])
        assert ran in (out / f"{out.name}_eth0.o").read_bytes()
    assert "-o FOLDER" in done.deployment("afd").lines[0], "no path is made up"


def test_the_commands_are_those_of_what_was_run(advised: sg.Recommendation) -> None:
    assert advised.system == "linux"
    lines = advised.deployment("red", "eth0").lines
    assert "dev eth0" in lines[-1]
    assert advised.chosen("red") == {"limit": "50", "min_th": "8", "max_th": "16"}
    assert " limit 75000 min 12000 max 24000 avpkt 1500 " in lines[-1], "packets of 1500 bytes"
    assert advised.chosen("fq_codel") == {}
    assert advised.deployment("fq_codel", "em0", "freebsd").lines[0] == "dnctl pipe 1 config bw 20Mbit/s"
    with pytest.raises(Undeployable):
        advised.deployment("cake", system="freebsd")


def test_goals_of_the_file_count_unless_others_are_given(sluicegate: Program, office: Path) -> None:
    office.write_text(OFFICE + 'goals = ["voip p99 below 30 ms"]\n')
    short = ["--seeds", "3", "--disciplines", "drop_tail,fq_codel", "--set", "run.duration=6 s"]
    answer = sluicegate("recommend", office, *short)
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.startswith("fq_codel is best: all goals are kept.\ngoals:\n  1  voip p99 below 30 ms\n")
    assert "tc qdisc add dev DEV parent 1:1 handle 10: fq_codel limit 10240 " in answer.stdout
    other = sluicegate("recommend", office, *short, "--goal", "utilisation above 99 %", "--json")
    record = json.loads(other.stdout)
    assert record["goals"] == ["utilisation above 99 %"]
    assert [each["rank"] for each in record["ranking"]] in ([1, 1], [1, 2])
    assert record["ranking"][0]["goals"][0]["kept"] in (True, None)


def test_what_no_discipline_keeps_is_said(sluicegate: Program, office: Path) -> None:
    short = ["--seeds", "2", "--disciplines", "afd", "--set", "run.duration=6 s"]
    answer = sluicegate("recommend", office, *short, "--goal", "voip p99 below 1 ms", "--goal", "voip p99 least")
    assert "with 1 of 2 goals not kept." in answer.stdout
    assert "no discipline keeps: voip p99 below 1 ms" in answer.stdout
    assert (
        "afd, chosen for the link: limit = 50 packets, q_ref = 12 packets\nafd cannot be deployed on Linux"
        in answer.stdout
    )


def test_objects_take_goals_too() -> None:
    net = sg.dumbbell(rate="2 Mbit/s", delay="10 ms")
    flows = [sg.Tcp(4, name="files"), sg.Udp(rate="64 kbit/s", packet_size="200 B", name="call")]
    done = sg.recommend(net, flows, goals=["call p99 below 40 ms"], disciplines=["drop_tail", "fq_codel"],
                        seeds=2, duration="8 s", warmup="2 s")  # fmt: skip
    assert done.best() == ["fq_codel"]
    assert repr(done) == "<sluicegate.Recommendation fq_codel; 2 disciplines>"


def test_runs_are_kept_and_goals_change_none(office: Path, tmp_path: Path) -> None:
    counted: list[int] = []

    def ask(goal: str) -> None:
        sg.recommend(office, goals=[goal], disciplines="drop_tail,codel", seeds=2, sets={"run.duration": "5 s"},
                     out=tmp_path / "out", progress=lambda done, *_: counted.append(done))  # fmt: skip

    ask("utilisation above 90 %")
    assert len(counted) == 4
    office.write_text(OFFICE + 'goals = ["voip p99 below 30 ms"]\n')
    ask("utilisation above 50 %")
    assert len(counted) == 4


def test_further_seeds_of_what_is_close_are_none_of_those_that_ran(office: Path) -> None:
    """With a tolerance as small as this, and as few seeds, no two disciplines are told apart."""
    done = sg.recommend(office, goals=["utilisation most within 0.001 %"], disciplines="drop_tail,codel",
                        seeds=[0, 1], sets={"run.duration": "5 s", "run.warmup": "1 s"})  # fmt: skip
    assert done.comparison.summary["further_seeds"] == {key: list(range(2, 8)) for key in ("drop_tail", "codel")}
    assert done.comparison.mean("codel", "utilisation")["seeds"] == 8
    page = done.html()
    assert page.count("2 seeds (8 for drop_tail, codel)") >= 2, "above the page and beside its tables"
    assert "Further seeds of codel" in page


def test_an_interrupted_recommendation_keeps_runs_and_replaces_no_page(office: Path, tmp_path: Path) -> None:
    def stop(done: int, total: int, label: str) -> None:
        if total == 12 and done == 12:
            raise KeyboardInterrupt

    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        sg.recommend(office, goals=["utilisation most within 0.001 %"], disciplines="drop_tail,codel", seeds=[0, 1],
                     sets={"run.duration": "5 s", "run.warmup": "1 s"}, out=out, progress=stop)  # fmt: skip
    assert [each.name for each in out.iterdir() if "sqlite" not in each.name] == []
    assert (out / "runs.sqlite").exists()


@pytest.mark.parametrize(("seeds", "told"), [(5, ["for narrower intervals run more seeds: --seeds 20"]), (10**6, [])])
def test_what_is_open_asks_for_more_seeds_than_ran(advised: sg.Recommendation, seeds: int, told: list[str]) -> None:
    done = copy.copy(advised)
    done.summary = {"seeds": range(1, seeds + 1)}
    done.ranking = [replace(each, kept=(None,) * len(each.kept)) for each in done.ranking]
    assert [line for line in conclusion(done) if "narrower" in line] == told


def test_the_page_names_the_interface_that_was_asked_for(sluicegate: Program, office: Path, tmp_path: Path) -> None:
    short = ["--seeds", "1", "--disciplines", "drop_tail,fq_codel", "--set", "run.duration=5 s", "--quiet"]
    assert sluicegate("recommend", office, *short, "--dev", "eth7", "-o", tmp_path / "out").returncode == 0
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "tc qdisc add dev eth7 root" in page
    assert sg.Recommendation.read(tmp_path / "out").html() == page
    with pytest.raises(Undeployable):
        sg.recommend(office, dev="eth 7")


def test_many_goals_stay_readable_on_a_terminal_of_100_columns(sluicegate: Program, tmp_path: Path) -> None:
    (tmp_path / "home.toml").write_text(sg.access_line(down="40 Mbit/s", up="8 Mbit/s"))
    short = ["--seeds", "2", "--set", "run.duration=6 s", "--set", "run.warmup=2 s"]
    names = ["--disciplines", "drop_tail,fq_codel,fq_pie"]
    printed = sluicegate("recommend", "home.toml", *short, *names).stdout
    lines = printed[printed.index("3 disciplines, 2 seeds each") : printed.index("yes: the goal is kept")].splitlines()
    assert max(map(len, lines)) <= 100
    rows = [line.split() for line in lines if line.startswith(" rank ")]
    assert len(rows) > 1, "in several tables"
    assert [("behind" in row) for row in rows] == [True, *[False] * (len(rows) - 1)], "which it says once"
    heads = re.findall(r"goal (\d+)", printed[: printed.index("yes: the goal is kept")])
    kept = re.search(r"^kept by all of these: goals (.*)$", printed, re.MULTILINE)
    assert kept is not None
    all_goals = re.findall(r"^  (\d+)  \S", printed, re.MULTILINE)
    assert sorted([*heads, *kept[1].split(", ")], key=int) == all_goals, "each goal once"


def test_who_sees_no_bar_is_told_what_is_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], office: Path
) -> None:
    """Standard error is no terminal here; a run that is short is not announced."""
    command = importlib.import_module("sluicegate.cli.recommend")
    command.announce(str(office), [], [], None, "any", "cake,fq_codel", 5, 1)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(command, "LONG_S", 0.0)
    command.announce(str(office), [], [], None, "any", "cake,fq_codel", 5, 1)
    assert capsys.readouterr().err.startswith("2 disciplines, 5 seeds: 10 runs take about ")
    command.announce(str(office), [], [], None, "any", "cake,fq_codel", 5, 3)
    assert " on 3 idle cores; " in capsys.readouterr().err
