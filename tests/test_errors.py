"""Bad input is an answer: file, line, key, rule, exit code 2, and nothing left behind."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest
from conftest import SMALL, Program
from typer.main import get_command

import sluicegate as sg
from sluicegate import _core
from sluicegate.cli import app
from sluicegate.cli.usage import every

LINKS = """\
[[network.links]]
name = "first"
from = "a"
to = "b"
rate = "1 Mbit/s"
delay = "1 ms"

[[flows]]
kind = "udp"
rate = "1 Mbit/s"
path = ["first"]

[run]
duration = "1 s"
"""

# What is replaced, by what (the error stands in its last line), the key in the message, and more of the message.
MISTAKES = {
    "unknown table": ("[run]", "[runs]", "runs", ["no such", '"run"']),
    "unknown key": ('rate = "1 Mbit/s"', 'raet = "1 Mbit/s"', "network.raet", ["no such key", '"rate"']),
    "unknown key, unlike any": ("limit = 100", "zzzzzzzz = 1", "queue.zzzzzzzz", ["no such key"]),
    "number for a rate": ('rate = "2 Mbit/s"', "rate = 2", "flows.1.rate", ["a rate with its unit"]),
    "text for a number": ("limit = 100", 'limit = "many"', "queue.limit", ["many"]),
    "text for a switch": ("wait = true", 'wait = "yes"', "queue.red.wait", ["true or false"]),
    "fraction for a count": ("count = 3", "count = 2.5", "flows.0.count", ["2.5", "a whole number"]),
    "value for a table": ('[network]\nrate = "1 Mbit/s"\ndelay = "1 ms"', "network = 3", "network", ["table"]),
    "unknown unit": ('"1 Mbit/s"', '"1 Mbit/h"', "network.rate", ["Mbit/h"]),
    "time in a unit of rate": ('"6 s"', '"6 Mbit/s"', "run.duration", ["6 Mbit/s"]),
    "below its range": ("count = 3", "count = 0", "flows.0.count", ["0", "at least 1"]),
    "negative": ("limit = 100", "limit = -1", "queue.limit", ["-1", "negative"]),
    "not finite": ("wait = true", "w_q = inf", "queue.red.w_q", ["inf"]),
    "rule between keys": ("min_th = 10", "min_th = 70", "queue.min_th", ["min_th < max_th", "30"]),
    "rule of the run": ('warmup = "2 s"', 'warmup = "7 s"', "run.warmup", ["7 s", "6 s"]),
    "unknown discipline": ('"choke"', '"chok"', "queue.discipline", ["chok", '"choke"']),
    "table of no discipline": ("[queue.red]", "[queue.read]", "queue.read", ["no such", '"red"']),
    "mistake in an unused table": ("wait = true", "wiat = true", "queue.red.wiat", ["no such key", '"wait"']),
    "range in an unused table": ("wait = true", "w_q = 2", "queue.red.w_q", ["2", "at most 1"]),
    "unknown kind of flow": ('kind = "udp"', 'kind = "upd"', "flows.1.kind", ["upd", '"udp"']),
    "key of another kind": ('rate = "2 Mbit/s"', 'rate = "2 Mbit/s"\nwindow = 3', "flows.1.window", ["no such key"]),
    "unknown choice": ("window = 20", 'algorithm = "rino"', "flows.0.algorithm", ["rino", '"reno"']),
    "key given twice": ("limit = 100", "limit = 100\nlimit = 9", "", ['duplicate key at "limit"']),
    "no TOML": ("limit = 100", "limit 100", "", []),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named_with_file_line_key_and_rule(
    sluicegate: Program, small: Path, tmp_path: Path, mistake: str
) -> None:
    old, new, key, more = MISTAKES[mistake]
    assert SMALL.count(old) >= 1
    text = SMALL.replace(old, new, 1)
    line = text[: text.index(new) + len(new)].count("\n") + 1
    small.write_text(text)
    done = sluicegate("run", "small.toml", "-o", "out")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith(f"error: small.toml:{line}: {key}")
    for part in more:
        assert part in done.stderr
    assert list(tmp_path.iterdir()) == [small]
    checked = sluicegate("check", "small.toml")
    assert (checked.returncode, checked.stderr) == (2, done.stderr)


@pytest.mark.parametrize(
    ("text", "line", "parts"),
    [
        (SMALL.replace('kind = "udp"\nrate = "2 Mbit/s"', 'kind = "udp"'), 20, ["flows.1.rate"]),
        (SMALL.replace('kind = "udp"\n', ""), 20, ["flows.1.kind"]),
        (SMALL.replace('rate = "1 Mbit/s"\n', "", 1), 1, ["network.rate"]),
        (SMALL.split("[[flows]]")[0] + "[run]\n", None, ["flows"]),
        ("", None, ["network"]),
        (LINKS.replace('["first"]', '["frist"]'), 11, ["flows.0.path", "frist", '"first"']),
        (LINKS.replace('["first"]', "[]"), 11, ["flows.0.path"]),
        (LINKS.replace('path = ["first"]\n', ""), 8, ["flows.0.path"]),
        (LINKS.replace('to = "b"\n', ""), 1, ["network.links.0.to"]),
        (LINKS.replace('name = "first"', 'nmae = "first"'), 2, ["network.links.0.nmae", '"name"']),
        (LINKS + LINKS.split("\n[[flows]]")[0], 16, ["network.links.1.name", "first"]),
    ],
    ids=[
        "required key missing", "kind missing", "bottleneck rate missing", "no flows", "empty file", "unknown link",
        "empty path", "no path", "end of a link missing", "unknown key of a link", "two links of one name",
    ],
)  # fmt: skip
def test_what_is_missing_or_does_not_fit_is_named(text: str, line: int | None, parts: list[str]) -> None:
    with pytest.raises(sg.ScenarioError) as caught:
        _core.Scenario(text, "x.toml", [])
    message = str(caught.value)
    assert message.startswith("x.toml:" if line is None else f"x.toml:{line}: ")
    for part in parts:
        assert part in message


def test_a_path_whose_links_do_not_meet_is_refused() -> None:
    second = LINKS.split("\n[[flows]]")[0].replace('"first"', '"second"').replace('"a"', '"c"').replace('"b"', '"d"')
    text = second + "\n" + LINKS.replace('["first"]', '["first", "second"]')
    with pytest.raises(sg.ScenarioError, match=r"^x\.toml:18: flows\.0\.path.*second"):
        _core.Scenario(text, "x.toml", [])


@pytest.mark.parametrize(
    ("sets", "parts"),
    [
        (["queue.min_th=70"], ["--set queue.min_th", "min_th < max_th"]),
        (["queue.mim_th=7"], ["queue.mim_th", '"min_th"']),
        (["flows.9.rate=1 Mbit/s"], ["flows.9"]),
        (["flows.x.rate=1 Mbit/s"], ["flows.x"]),
        (["flows.1.rate=fast"], ["--set flows.1.rate", "fast"]),
        (["queue.discipline=rde"], ["--set queue.discipline", '"red"']),
        (["nonsense"], ["--set nonsense", "KEY=VALUE"]),
        (["=3"], ["--set =3", "KEY=VALUE"]),
        (["queue.limit="], ["--set queue.limit=", "KEY=VALUE"]),
        (["queue=3"], ["queue"]),
        (["run.seed=-1"], ["run.seed", "negative"]),
    ],
)
def test_a_wrong_override_is_named(
    sluicegate: Program, small: Path, tmp_path: Path, sets: list[str], parts: list[str]
) -> None:
    done = sluicegate("run", small, "-o", "out", *(word for text in sets for word in ("--set", text)))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("error: ")
    for part in parts:
        assert part in done.stderr
    assert list(tmp_path.iterdir()) == [small]


def test_a_near_file_does_not_hide_a_near_bundled_scenario(sluicegate: Program, tmp_path: Path) -> None:
    for file, asked, meant in (
        ("chok199", "chok1999", '"chok199" or the bundled "choke1999"'),
        ("unresponsive2.toml", "unresponsive1.toml", '"unresponsive2.toml" or the bundled "unresponsive"'),
        ("cabel.toml", "cabel", '"cabel.toml" or the bundled "cable"'),
    ):
        (tmp_path / file).touch()
        assert sluicegate("run", asked).stderr == f"error: {asked}: no such file; did you mean {meant}?\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "nowhere.toml"], "error: nowhere.toml: no such file\n"),
        (["run", "office.toml"], "error: office.toml: no such file\n"),
        (["run", "office"], "error: office: no such file; bundled scenarios: bursts, "),
        (["run", "trafic.toml"], 'error: trafic.toml: no such file; did you mean "traffic"?'),
        (["run", ""], "error: a scenario's name, file or text is expected, not an empty text"),
        (["run", "unresponsiv"], 'error: unresponsiv: no such file; did you mean "unresponsive"?'),
        (["run", "smal.toml"], 'error: smal.toml: no such file; did you mean "small.toml"?\n'),
        (["run", "small"], 'error: small: no such file; did you mean "small.toml"?\n'),
        (["learn", "./smal.toml", "-o", "x.toml"], 'did you mean "small.toml"?\n'),
        (["check", "deep/nowhere.toml"], "error: deep/nowhere.toml: No such file"),
        (["run", "."], "error: .: Is a directory"),
        (
            ["replay", "small.toml", "--rate", "5"],
            'error: --rate = 5: must be a rate with its unit, such as "1 Mbit/s"',
        ),
        (["evaluate", "red", "--suite", "envelope", "--promise", "5"], "error: --promise = 5: must be a time with its"),
        (
            ["theory", "choke", "--tcp", "0", "--udp", "1 kbit/s", "--rate", "1 kbit/s", "--rtt", "1 s"],
            "error: --tcp = 0: must be",
        ),
        (["run", "small.toml", "-o", "small.toml"], "not a directory"),
        (["run", "small.toml", "-o", "small.toml/below"], "not a directory"),
        (["disciplines", "chok"], 'error: chok: no such discipline; did you mean "choke"?'),
        (
            ["disciplines", "zzzz"],
            "error: zzzz: no such discipline; known: drop_tail, random_drop, early_random_drop, ",
        ),
        (["reproduce", "choke1998"], 'error: no such paper: "choke1998"; did you mean "choke1999"?'),
        (["reproduce", "choke1999", "-o", "small.toml"], "not a directory"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    sluicegate: Program, small: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    done = sluicegate(*arguments)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("error: ")
    assert message in done.stderr
    assert list(tmp_path.iterdir()) == [small]
    assert small.read_text() == SMALL


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("run", "missing argument: FILE (scenario file, or a bundled scenario's name); see `sluicegate run --help`"),
        ("replay x", "missing option: --rate RATE (rate of the"),
        ("run x --sed 3", 'no such option: --sed; did you mean "--seed"?; see'),
        ("run x --seeds 3", '"--seed"?; `compare`, `evaluate`, `recommend` have it; see'),
        ("recommend x --format openwrt", "no such option: --format; `connections`, `tc` have it; see"),
        ("run x --seed -3", "--seed -3: must be at least 0; usage: --seed N (seed of every random stream [x>=0]); see"),
        ("run x --seed a", "--seed a: must be a whole number; usage: --seed N (seed"),
        ("run x --quiet=3", "option --quiet does not take a value; usage: -q, --quiet (print nothing but errors); see"),
        ("new home --down 87 Mbit/s", 'too many words: Mbit/s; quote a value with a space: --down "87 Mbit/s"; see'),
        ("run x --set network.delay=5 ms", 'quote a value with a space: --set "network.delay=5 ms"; see'),
        ("run x y", "too many words: y; usage: sluicegate run [OPTIONS] FILE; see"),
        ("rnu x", 'no such command: "rnu"; did you mean "run"?; see `sluicegate --help`'),
        ("theory chok", 'did you mean "choke"?; see `sluicegate theory --help`'),
        ("design xyz", 'no such command: "xyz"; known: red, pi, dcn, afd; see `sluicegate design --help`'),
        ("--frobnicate", "no such option: --frobnicate; see `sluicegate --help`"),
    ],
)
def test_wrong_usage_is_one_line_with_its_fix(sluicegate: Program, arguments: str, message: str) -> None:
    done = sluicegate(*arguments.split(" "))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("error: ")
    assert message in done.stderr


def test_an_option_without_its_value_is_told_with_its_usage(sluicegate: Program) -> None:
    """Every one of every command."""
    options = [
        (path.strip("`"), parameter.opts[0])
        for path, command in every(get_command(app))
        for parameter in command.params
        if parameter.param_type_name == "option" and not parameter.is_flag
    ]
    assert len(options) > 150
    for path, option in options:
        told = sluicegate(*path.split(), option).stderr
        usage = rf"(-\w, )?{option}(, --\w+)? .* \(.*\)"
        known = rf"error: option {option} needs a value; usage: {usage}; see `sluicegate {path} --help`\n"
        assert re.fullmatch(known, told), told


def test_an_empty_scenario_is_told_with_its_fix(sluicegate: Program, tmp_path: Path) -> None:
    """What `new home > home.toml` leaves behind after an error."""
    (tmp_path / "x.toml").write_text("\n")
    done = sluicegate("check", "x.toml")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("error: x.toml: is empty; `sluicegate new home -o FILE` writes")


def test_a_number_for_a_time_is_warned_of_once(sluicegate: Program, small: Path) -> None:
    small.write_text(SMALL.replace("limit = 100", 'limit = "100 ms"'))
    short = ["--set", "queue.limit=90", "--set", "run.duration=3 s"]
    told = 'warning: --set queue.limit = 90 counts packets; the scenario has "100 ms": for a time say "90 ms"\n'
    for command in (["check"], ["run"], ["compare", "--disciplines", "choke,red", "--seeds", "1"]):
        assert sluicegate(*command, small, *short).stderr.count(told) == 1
    assert sluicegate("check", small, "--set", "queue.limit=90 ms").stderr == ""
    small.write_text(SMALL + '\n[network.reverse]\nbuffer = "260 ms"\n')
    told = sluicegate("check", small, "--set", "network.reverse.buffer=90").stderr
    assert told.startswith("warning: --set network.reverse.buffer = 90 counts packets; the scenario has")


def test_a_file_that_is_not_text_is_refused(sluicegate: Program, tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_bytes(b"[run]\n\xff\xfe")
    done = sluicegate("check", "x.toml")
    assert (done.returncode, done.stderr) == (2, "error: x.toml: not UTF-8 text (byte 6)\n")


def test_a_measurement_in_place_of_a_scenario_is_told(sluicegate: Program, tmp_path: Path) -> None:
    (tmp_path / "ping.txt").write_text("PING 192.0.2.1 (192.0.2.1): 56 data bytes\n")
    (tmp_path / "x.pcap").write_bytes(b"\xd4\xc3\xb2\xa1")
    for name, why in (("ping.txt", "not TOML: "), ("x.pcap", "not UTF-8 text (byte 0); ")):
        done = sluicegate("run", name)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert done.stderr.startswith(f"error: {name}: {why}")
        assert "`sluicegate learn` makes one from captures and measurements" in done.stderr


def test_a_file_without_permission_is_refused(sluicegate: Program, small: Path) -> None:
    small.chmod(0)
    done = sluicegate("check", "small.toml")
    if os.geteuid() == 0:  # root may read anything
        assert done.returncode == 0
    else:
        assert (done.returncode, done.stderr) == (2, "error: small.toml: Permission denied\n")


def test_a_blocked_result_is_told_before_the_work(sluicegate: Program, small: Path, tmp_path: Path) -> None:
    (tmp_path / "out/queue.parquet").mkdir(parents=True)
    done = sluicegate("run", "small.toml", "-o", "out", "--set", "run.duration=1000000 s")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "out/queue.parquet: is a directory" in done.stderr
    (tmp_path / "paper").mkdir()
    (tmp_path / "paper/data").write_text("")
    done = sluicegate("reproduce", "choke1999", "--full", "-o", "paper")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "paper/data: not a directory" in done.stderr


def test_a_summary_of_somebody_elses_is_not_replaced(sluicegate: Program, small: Path, tmp_path: Path) -> None:
    """A `summary.json` that is not ours was replaced without a word."""
    for name in ("summary.json", "checks.json"):
        for text in ('{"version": "1.0", "name": "mine"}', "[1, 2]", "no JSON"):
            out = tmp_path / "out"
            out.mkdir()
            (out / name).write_text(text)
            commands = [["reproduce", "choke1999"], ["reproduce", "all"]]
            if name == "checks.json":
                (tmp_path / "out/choke1999").mkdir()
                (out / "choke1999" / name).write_text(text)
            else:
                commands = [
                    ["run", "small.toml"],
                    ["compare", "small.toml", "--disciplines", "red"],
                    ["sweep", "small.toml", "--over", "queue.min_th=5,6"],
                    ["replay", str(Path(__file__).parent / "captures/dumbbell.pcap"), "--rate", "1 Mbit/s"],
                    ["theory", "choke", "--tcp", "9", "--udp", "1 Mbit/s", "--rate", "1 Mbit/s", "--rtt", "1 s"],
                ]
            for words in commands:
                done = sluicegate(*words, "-o", "out")
                assert (done.returncode, done.stdout) == (2, ""), words
                place = out / "choke1999" / name if words[1] == "all" else out / name
                rule = "was not written by Sluicegate and would be replaced: write elsewhere, or move it away"
                assert done.stderr == f"error: {place}: {rule}\n"
                assert [path for path in out.rglob("*") if path.is_file() and path.name != name] == []
                assert (out / name).read_text() == text
            shutil.rmtree(out)


def test_every_command_replaces_what_it_wrote_and_nothing_of_another_kind(
    sluicegate: Program, small: Path, tmp_path: Path
) -> None:
    short = ["--set", "run.duration=3 s", "-q"]
    commands = [
        ["run", "small.toml", *short],
        ["compare", "small.toml", "--disciplines", "red", "--seeds", "1", *short],
        ["sweep", "small.toml", "--over", "queue.min_th=5,6", "--seeds", "1", *short],
        ["replay", str(Path(__file__).parent / "captures/dumbbell.pcap"), "--rate", "1 Mbit/s", "-q"],
        ["theory", "choke", "--tcp", "32", "--udp", "1 Mbit/s", "--rate", "1 Mbit/s", "--rtt", "100 ms", "-q"],
    ]
    for words in commands:
        for _ in range(2):
            done = sluicegate(*words, "-o", words[0])
            assert (done.returncode, done.stderr) == (0, ""), words
        for other in commands:
            if other is not words and (tmp_path / other[0]).exists():
                done = sluicegate(*words, "-o", other[0])
                assert done.returncode == 2, (words, other)
                assert done.stderr.startswith(f"error: {tmp_path / other[0]}: holds a"), (words, other)
                assert done.stderr.endswith("is to be written: write elsewhere, or remove it\n")


def test_a_key_that_does_nothing_is_warned_of_unless_quiet(sluicegate: Program, small: Path) -> None:
    """`max_th` under `[queue]` with a discipline that has none."""
    short = ["--set", "run.duration=3 s"]
    target = ["--set", "queue.target=5 ms"]
    warning = "warning: --set queue.target: choke has no such key; it does nothing\n"
    assert sluicegate("run", small, *short, *target).stderr == warning
    assert sluicegate("run", small, *short, *target, "--quiet").stderr == ""
    checked = sluicegate("check", small, *target)
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, f"{small}: ok\n", warning)
    # A file serves several disciplines: thresholds in it say nothing about the one that is chosen for now.
    assert sluicegate("check", small, "--set", "queue.discipline=drop_tail").stderr == ""
    small.write_text(SMALL.replace('"choke"', '"drop_tail"').replace("max_th", "limitt").replace("limitt = 30", ""))
    line = SMALL[: SMALL.index("min_th")].count("\n") + 1
    told = f"warning: {small}:{line}: queue.min_th: drop_tail has no such key; it does nothing\n"
    assert sluicegate("check", small).stderr == told


def test_the_documented_mistakes_are_answered_as_printed(sluicegate: Program, tmp_path: Path) -> None:
    page = Path(__file__).parents[1].joinpath("docs/scenarios.md").read_text("utf-8")
    scenario = page.split("```toml\n")[1].split("```")[0]
    printed = page.split("## Mistakes")[1].split("```\n")[1].splitlines()
    mistakes = [("min_th = 30", "min_th = 70", []), ("rate", "raet", []), ("", "", ["--set", "queue.limit=-1"])]
    assert len(printed) == len(mistakes)
    for line, (old, new, words) in zip(printed, mistakes, strict=True):
        (tmp_path / "mine.toml").write_text(scenario.replace(old, new, 1))
        done = sluicegate("check", "mine.toml", *words)
        assert (done.returncode, done.stderr) == (2, line + "\n")


def test_the_manual_names_every_bundled_scenario() -> None:
    from sluicegate import scenario as api

    page = Path(__file__).parents[1].joinpath("docs/scenarios.md").read_text("utf-8")
    [table] = [text for text in page.split("\n\n") if text.startswith("| name | what it shows |")]
    for name in api.scenarios():
        assert f"`{name}`" in table
