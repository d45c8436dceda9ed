"""Whatever the command line is given: an answer within a second, or one line on standard error and exit code 2.

What Rust reads of it is fuzzed too, by coverage: `make fuzz`, target overrides.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import typer
from click.testing import CliRunner, Result
from hypothesis import example, given
from hypothesis import strategies as st

from sluicegate import _core, cli, papers
from sluicegate.experiments import compare as comparison
from sluicegate.experiments import disciplines
from sluicegate.experiments import replay as replays
from sluicegate.theory import choke_curve

CAPTURE = str(Path(__file__).parent / "captures/raw.pcap")

# Any text an argument can be, bytes that are no UTF-8 included; and pieces of what is meant.
ANY = st.text(st.characters(exclude_categories=[], exclude_characters="\0"), max_size=40)
WORDS = [
    "red",
    "choke",
    "queue",
    "flows",
    "run",
    "candidates",
    "min_th",
    "discipline",
    "duration",
    "rate",
    "python",
    "x.py",
    "Aqm",
    "Mbit/s",
    "0",
    "2",
    "-1",
    "1e999",
]
PIECES = st.lists(st.sampled_from([*WORDS, *':=,. []{}"', " s", "\udcff"]), max_size=12).map("".join)
TEXT = ANY | PIECES

LOADED = (
    choke_curve,
    comparison,
    papers,
    replays,
)  # what commands import by themselves; a first import takes its time

COMMANDS = [
    ["check", "choke1999", "--set", "{}"],
    ["check", "choke1999", "--set", "{}=1"],
    ["check", "choke1999", "--set", "queue.discipline={}"],
    ["check", "{}"],
    ["compare", "choke1999", "--seeds", "{}", "--disciplines", "no"],
    ["compare", "choke1999", "--baseline", "{}", "--disciplines", "red,choke"],
    ["replay", CAPTURE, "--quiet", "--rate", "{}"],
    ["replay", CAPTURE, "--quiet", "--rate", "1 Mbit/s", "--discipline", "{}"],
    ["replay", CAPTURE, "--quiet", "--rate", "1 Mbit/s", "--length", "{}"],
    ["replay", CAPTURE, "--quiet", "--rate", "1 Mbit/s", "--flows", "{}"],
    ["replay", CAPTURE, "--quiet", "--rate", "1 Mbit/s", "--seed", "{}"],
    ["run", "choke1999", "--set", "run.duration=0 s", "--pcap", "{}"],
    ["sweep", "choke1999", "--set", "run.duration=0 s", "-o", "no", "--over", "{}"],
    ["sweep", "choke1999", "--set", "run.duration=0 s", "-o", "no", "--over", "flows.1.rate={}"],
    ["sweep", "choke1999", "--set", "run.duration=0 s", "-o", "no", "--over", "flows.1.rate=1..9{}"],
    ["sweep", "choke1999", "--over", "flows.1.rate=1 Mbit/s", "-o", "no", "--seeds", "{}x"],
    ["sweep", "choke1999", "--over", "queue.limit=70", "-o", "no", "--cluster", "{} "],
    ["disciplines", "{}"],
    ["reproduce", "{}"],
    ["design", "pi", "--rate", "{}", "--rtt", "100 ms", "--flows", "50"],
    ["design", "pi", "--rate", "45 Mbit/s", "--rtt", "{}", "--flows", "50"],
    ["design", "pi", "--rate", "45 Mbit/s", "--rtt", "100 ms", "--flows", "{}"],
    ["design", "pi", "--rate", "45 Mbit/s", "--rtt", "100 ms", "--flows", "50", "--w", "{}"],
    ["design", "red", "--rate", "{}", "--rtt", "100 ms", "--burst", "50"],
    ["design", "red", "--rate", "45 Mbit/s", "--rtt", "{}", "--burst", "50"],
    ["design", "red", "--rate", "45 Mbit/s", "--rtt", "100 ms", "--burst", "{}"],
    ["design", "red", "--rate", "45 Mbit/s", "--rtt", "100 ms", "--burst", "50", "--max-p", "{}"],
    ["design", "red", "--rate", "45 Mbit/s", "--rtt", "100 ms", "--burst", "50", "--dev", "{}"],
    ["theory", "choke", "--tcp", "{}", "--udp", "1 Mbit/s", "--rate", "1 Mbit/s", "--rtt", "100 ms"],
    ["theory", "choke", "--tcp", "32", "--udp", "{}", "--rate", "1 Mbit/s", "--rtt", "100 ms"],
    ["theory", "choke", "--tcp", "32", "--udp", "{}..2 Mbit/s", "--rate", "1 Mbit/s", "--rtt", "100 ms"],
    ["theory", "choke", "--tcp", "32", "--udp", "1 Mbit/s", "--rate", "{}", "--rtt", "100 ms"],
    ["theory", "choke", "--tcp", "32", "--udp", "1 Mbit/s", "--rate", "1 Mbit/s", "--rtt", "{}"],
    ["theory", "choke", "--tcp", "32", "--udp", "1 Mbit/s", "--rate", "1 Mbit/s", "--rtt", "1 s", "--max-p", "{}"],
    ["theory", "choke", "--tcp", "32", "--udp", "1 Mbit/s", "--rate", "1 Mbit/s", "--rtt", "1 s", "--law", "{}"],
    ["theory", "candidates", "--share", "{}", "--flows", "2"],
]


PROGRAM = typer.main.get_command(cli.app)  # made once: that takes longer than most answers


def answer(command: list[str]) -> Result:
    return CliRunner().invoke(PROGRAM, command)


@pytest.fixture(scope="module", autouse=True)
def libraries() -> None:
    """What a first command imports is not counted as the time of its answer."""
    command = ["theory", "choke", "--tcp", "32", "--udp", "1 Mbit/s", "--rate", "1 Mbit/s", "--rtt", "100 ms"]
    assert answer(command).exit_code == 0


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@given(text=TEXT)
@example(text="\udcff")
def test_any_argument_is_answered(command: list[str], text: str) -> None:
    if command[0] == "compare" and "--baseline" in command and text.strip() in ("red", "choke"):
        return  # that would be done
    if command[0] == "reproduce" and text in (*papers.PAPERS, "all"):
        return  # so would that
    begun = time.process_time()
    done = answer([part.format(text) if "{}" in part else part for part in command])
    # The longest answer takes 0.6 s of a processor, and up to twice that where others use the other half of its core.
    # One that runs away takes minutes.
    assert time.process_time() - begun < 3
    assert done.exit_code in (0, 2), (done.exception, done.output)
    assert done.exception is None or isinstance(done.exception, SystemExit)
    if done.exit_code == 2:
        assert "rror" in done.output or "Usage" in done.output


@given(text=TEXT)
def test_a_list_of_disciplines_is_read_or_refused(text: str) -> None:
    try:
        chosen = disciplines.choices(text)
    except _core.ScenarioError:
        return
    labels = [choice.label for choice in chosen]
    assert [choice.label for choice in disciplines.choices(",".join(labels))] == labels
    assert all(choice.sets[0] == ("queue.discipline", choice.name) for choice in chosen)


def test_more_seeds_than_can_be_listed_are_refused() -> None:
    done = answer(["compare", "choke1999", "--disciplines", "red", "--seeds", "99999999999999"])
    assert done.exit_code == 2
    assert "--seeds" in done.output
