"""The page in a real browser: it is built by `make web`, and `make test-web` does both."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Browser, visiting
from conftest import SMALL
from test_determinism import TRAFFIC_DIGEST, WEB_DIGEST, digest_of_columns

import sluicegate as sg
from sluicegate import _core
from sluicegate.live.served import fragment, saved
from sluicegate.quantities import in_base_unit
from sluicegate.scenario import read_scenario

PAGE = Path(__file__).parents[1] / "out" / "web" / "sluicegate.html"
SCREENSHOTS = Path(__file__).parents[1] / "out" / "screenshots"
"""To be looked at."""

READY = "document.documentElement.dataset.ready"
FAULT = "document.querySelector('main > .fault').textContent"

pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="the page is not built: `make test-web` builds it")


@pytest.fixture
def browser() -> Iterator[Browser]:
    """The page, opened from disk; whatever a test does with it, nothing may go wrong in it."""
    with visiting(PAGE.as_uri(), 120, READY) as opened:
        yield opened
        assert opened.errors() == []


def slide(browser: Browser, key: str, part: float) -> str:
    """Put the slider of a key at a part of its way; what the field beside it says once the run has heard of it."""
    value: str = browser.evaluate(
        f"""(async () => {{
            const slider = document.querySelector('input[type=range][data-key="{key}"]');
            slider.value = {1000 * part};
            slider.dispatchEvent(new Event('input', {{ bubbles: true }}));
            await sluicegate.engine.changes(0); // answered in order
            return document.querySelector('input[type=text][data-key="{key}"]').value;
        }})()"""
    )
    return value


def click(browser: Browser, text: str) -> None:
    """Click the button with this text."""
    browser.evaluate(
        f"[...document.querySelectorAll('button')].find(each => each.textContent.includes({json.dumps(text)})).click()"
    )


def choose(browser: Browser, select: str, value: str) -> None:
    """Choose an option of the select that a selector of CSS finds."""
    browser.evaluate(
        f"""(() => {{
            const found = document.querySelector({json.dumps(select)});
            found.value = {json.dumps(value)};
            found.dispatchEvent(new Event('change', {{ bubbles: true }}));
        }})()"""
    )


def shares(browser: Browser, begin: float, side: int = 0, seconds: float = 15) -> list[float]:
    """The mean throughput of each group, in Mbit/s, over so many simulated seconds from a time on."""
    browser.wait_until(f"sluicegate.now() >= {begin + seconds}")
    found: list[float] = browser.evaluate(f"sluicegate.throughput({begin})[{side}]")
    return found


def changed(browser: Browser, side: int = 0) -> float:
    """The simulated time of the latest change, in seconds."""
    return in_base_unit(browser.evaluate(f"sluicegate.engine.changes({side})")[-1]["time"]) / 1e9


def later(browser: Browser, seconds: float) -> None:
    """Let so many simulated seconds pass."""
    browser.wait_until(f"sluicegate.now() >= {browser.evaluate('sluicegate.now()') + seconds}")


def test_a_slider_changes_what_is_measured(browser: Browser) -> None:
    browser.evaluate("sluicegate.play(true, 20)")
    assert sum(shares(browser, 10)) == pytest.approx(1, rel=0.1), "CHOKe keeps 1 Mbit/s busy"
    assert slide(browser, "flows.1.rate", 0) == "100 kbit/s"
    assert shares(browser, changed(browser) + 2)[1] == pytest.approx(0.1, rel=0.3)
    # All but one of the transfers rest; the link has twice the rate.
    assert slide(browser, "flows.0.count", 0) == "1"
    assert slide(browser, "network.rate", 0.5 + 0.5 * 0.2314) == "2 Mbit/s"
    assert sum(shares(browser, changed(browser) + 10)) > 1.5
    assert browser.evaluate(FAULT) == ""


def test_two_disciplines_on_the_same_traffic_and_a_switch(browser: Browser) -> None:
    choose(browser, ".bar label:last-of-type select", "drop_tail")
    browser.wait_until("document.querySelectorAll('.side').length === 2")
    browser.evaluate("sluicegate.play(true, 20)")
    assert shares(browser, 15)[0] > 0.6 > 0.2 > shares(browser, 15, 1)[0], "TCP under CHOKe, and under Drop Tail"
    choose(browser, ".side:last-child h2 select", "choke")
    assert shares(browser, changed(browser, 1) + 10, 1)[0] > 0.5
    numbers = browser.evaluate("document.querySelectorAll('.numbers')[1].textContent")
    assert "match" in numbers


def test_results_are_the_native_ones_to_the_last_bit(browser: Browser) -> None:
    def measured(text: str, sets: dict[str, str]) -> str:
        pairs = json.dumps([f"{key}={value}" for key, value in sets.items()])
        found = browser.evaluate(f"sluicegate.engine.measure({json.dumps(text)}, {pairs})")
        return str(found["digest"])

    begin = {"run.duration": "15 s", "run.warmup": "10 s"}
    for name, expected in (("traffic", TRAFFIC_DIGEST), ("web", WEB_DIGEST)):
        assert measured(read_scenario(name)[0], begin) == expected
    names = [each["name"] for each in json.loads(_core.declarations())["disciplines"]]
    assert len(names) > 30
    for name in names:
        if name in ("priority", "drr"):
            continue  # they need classes
        sets = {"queue.discipline": name, "queue.red.wait": "false"}
        native = digest_of_columns(_core.run(_core.Scenario(SMALL, "small.toml", list(sets.items()))))
        assert measured(SMALL, sets) == native, name


@pytest.mark.parametrize("at", range(4))
def test_a_tour_runs_to_its_end(browser: Browser, at: int) -> None:
    tours = "select[aria-label=Tours]"
    choose(browser, tours, browser.evaluate(f"document.querySelector('{tours}').options[{at + 1}].value"))
    browser.wait_until("sluicegate.tour.place")
    name, _, steps = browser.evaluate("sluicegate.tour.place")
    for step in range(1, steps + 1):
        browser.wait_until(f"sluicegate.tour.place[1] === {step}")
        later(browser, 1)
        assert browser.evaluate(FAULT) == "", name
        last = "A question to try" in browser.evaluate("document.querySelector('.tour').textContent")
        assert last == (step == steps)
        click(browser, "End the tour" if step == steps else "Next")
    browser.wait_until("document.querySelector('.tour').hidden")


def test_a_link_opens_a_tour() -> None:
    with visiting(f"{PAGE.as_uri()}#tour=bufferbloat", 60, READY) as other:
        assert other.evaluate("sluicegate.tour.place")[:2] == ["bufferbloat", 1]
        assert other.evaluate(FAULT) == ""
    with visiting(f"{PAGE.as_uri()}#tour=buffer", 60, READY) as other:
        assert other.evaluate(FAULT) == 'no tour "buffer"; there are red, choke, dcn, bufferbloat'


def test_a_saved_page_opens_with_its_scenario(tmp_path: Path) -> None:
    name = tmp_path / "saved.html"
    name.write_bytes(saved(PAGE.read_bytes(), fragment(SMALL, {"queue.discipline": "codel"}, 9)))
    with visiting(name.as_uri(), 60, READY) as other:
        assert other.evaluate("document.querySelector('.side select').value") == "codel"
        assert other.errors() == []
    with visiting(f"{name.as_uri()}#tour=red", 60, READY) as other:
        assert other.evaluate("sluicegate.tour.place")[0] == "red"


def test_the_theory_is_beside_what_is_measured(browser: Browser) -> None:
    choose(browser, "select[aria-label=Tours]", "choke")
    for step in (1, 2):
        browser.wait_until(f"sluicegate.tour.place?.[1] === {step}")
        click(browser, "Next")
    browser.wait_until("sluicegate.tour.measured().length > 0")
    [[load, share]] = browser.evaluate("sluicegate.tour.measured().slice(0, 1)")
    assert load == 1
    assert share == pytest.approx(browser.evaluate("sluicegate.tour.predicted(1)"), abs=0.04), "spread over 100 s"


@pytest.mark.parametrize(
    ("old", "new"),
    [("limit = 100", "limt = 100"), ('"2 Mbit/s"', '"2 Mbit"'), ("[run]", "[run"), ("seed = 5", "seed = -5")],
)
def test_a_mistake_is_answered_as_on_the_command_line(browser: Browser, old: str, new: str) -> None:
    text = SMALL.replace(old, new)
    with pytest.raises(_core.ScenarioError) as error:
        _core.Scenario(text, "scenario.toml", [])
    assert browser.evaluate(f"sluicegate.open({json.dumps(text)})") is False
    assert browser.evaluate(FAULT) == str(error.value)
    assert browser.evaluate(f"sluicegate.open({json.dumps(SMALL)})") is True
    assert browser.evaluate(FAULT) == ""


def test_a_value_that_is_refused_is_said_beside_its_slider(browser: Browser) -> None:
    browser.evaluate(
        """(() => {
            const field = document.querySelector('input[type=text][data-key="queue.choke.min_th"]');
            field.value = "90";
            field.dispatchEvent(new Event('change'));
        })()"""
    )
    browser.wait_until("[...document.querySelectorAll('.side .fault')].some(each => each.textContent)")
    said = browser.evaluate("[...document.querySelectorAll('.side .fault')].map(each => each.textContent).join('')")
    assert "breaks the rule min_th < max_th" in said


def test_a_link_has_the_scenario_and_what_was_changed(browser: Browser) -> None:
    browser.evaluate(f"sluicegate.open({json.dumps(SMALL)})")
    slide(browser, "flows.1.rate", 0.25)
    assert slide(browser, "flows.0.count", 0.5) == "2"
    click(browser, "Share")
    browser.wait_until("document.querySelector('dialog textarea')")
    address = browser.evaluate("document.querySelector('dialog textarea').value")
    with visiting(address, 60, READY) as other:
        field = "document.querySelector('input[type=text][data-key=\"flows.1.rate\"]').value"
        assert other.evaluate(field) == browser.evaluate(field) != "2 Mbit/s"
        count = "document.querySelector('input[type=text][data-key=\"flows.0.count\"]').value"
        assert other.evaluate(count) == "2"
        assert slide(other, "flows.0.count", 1) == "3", "those that rest can go on"
        assert other.evaluate(FAULT) == ""
    with visiting(f"{PAGE.as_uri()}#{fragment(SMALL, {'queue.discipline': 'codel'}, 9)}", 60, READY) as other:
        assert other.evaluate("document.querySelector('.side select').value") == "codel"
        assert other.evaluate("document.querySelector('input[type=number]').value") == "9"
    with visiting(f"{PAGE.as_uri()}#s=damaged", 60, READY) as other:
        assert "the link is damaged" in other.evaluate(FAULT)


@pytest.mark.parametrize("name", ["unresponsive", "dsl", "small"])
def test_the_code_for_python_is_the_same_run(browser: Browser, name: str) -> None:
    text = SMALL if name == "small" else read_scenario(name)[0]
    shorter = re.sub(r"duration = .*", 'duration = "5 s"', re.sub(r"warmup = .*", "", text))
    browser.evaluate(f"sluicegate.open({json.dumps(shorter)})")
    click(browser, "Python")
    browser.wait_until("document.querySelector('dialog pre')")
    code = browser.evaluate("document.querySelector('dialog pre').textContent")
    found: dict[str, object] = {}
    exec(code.replace("print(", "str("), found)
    run, expected = found["run"], sg.simulate(shorter)
    assert isinstance(run, sg.Run)
    assert run.flows.equals(expected.flows, null_equal=True)


def test_keys(browser: Browser) -> None:
    def press(key: str) -> None:
        browser.evaluate(
            f"document.body.dispatchEvent(new KeyboardEvent('keydown', {{ key: '{key}', bubbles: true }}))"
        )

    press(" ")
    browser.wait_until("document.querySelector('button.main').textContent.includes('Pause')")
    later(browser, 0.2)
    press(".")
    browser.wait_until("document.querySelector('button.main').textContent.includes('Run')")
    before = browser.evaluate("document.querySelector('.numbers').textContent")
    press("r")
    browser.wait_until(f"document.querySelector('.numbers').textContent !== {json.dumps(before)}")


@pytest.mark.parametrize("view", ["", "red", "choke", "dcn", "bufferbloat"])
def test_every_view_fits_its_window(browser: Browser, view: str) -> None:
    if view:
        choose(browser, "select[aria-label=Tours]", view)
        browser.wait_until("sluicegate.tour.place")
        for step in range(2, browser.evaluate("sluicegate.tour.place[2]") + 1):
            click(browser, "Next")
            browser.wait_until(f"sluicegate.tour.place[1] === {step}")
    browser.evaluate("sluicegate.play(true, 5)")
    later(browser, 10)
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    for theme in ("light", "dark"):
        if browser.evaluate("document.documentElement.dataset.theme ?? 'light'") != theme:
            click(browser, "◐")
        for width, height in ((1400, 1300), (390, 2200)):
            browser.resize(width, height)
            browser.wait_until(f"document.documentElement.scrollWidth <= {width}")
            # Charts follow the window with their next sample.
            later(browser, 2)
            browser.screenshot(SCREENSHOTS / f"{view or 'page'}-{width}-{theme}.png")


def test_a_frame_for_each_that_the_screen_shows(browser: Browser) -> None:
    browser.evaluate("sluicegate.play(true, 1)")
    later(browser, 2)
    # What a frame costs is far less than it lasts; a machine that is busy with other tests shows fewer.
    assert browser.evaluate("sluicegate.framesPerSecond()") > 10
