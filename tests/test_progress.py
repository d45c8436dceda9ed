"""Progress: when a bar is there, how it is drawn, and what a function of your own gets."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from test_calling import FLOWS, NETWORK, SHORT

import sluicegate as sg
from sluicegate import progress as bars

CAPTURE = str(Path(__file__).parent / "captures/raw.pcap")


def calls(progress: Any) -> list[Callable[[], object]]:
    """Every function that shows its progress, called with `progress`."""
    common: dict[str, Any] = {"progress": progress, "seeds": 1, "jobs": 1, **SHORT}
    return [
        lambda: sg.run(NETWORK, FLOWS, **SHORT, progress=progress),
        lambda: sg.Simulation(NETWORK, FLOWS, **SHORT).finish(progress),
        lambda: sg.compare(NETWORK, FLOWS, disciplines="red", **common),
        lambda: sg.sweep(NETWORK, FLOWS, over={"queue.choke.limit": [50]}, **common),
        lambda: sg.recommend(NETWORK, FLOWS, disciplines="red", goals="udp loss below 5 %", **common),
        lambda: sg.replay(CAPTURE, rate="1 Mbit/s", progress=progress),
    ]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_is_there_when_it_is_asked_for_or_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[object] = []

    def told(*about: object) -> None:
        shown.append(about)

    for progress, terminal, wanted in [
        (True, False, True),
        (None, True, True),
        (None, False, False),
        (False, True, False),
    ]:
        for number, call in enumerate(calls(progress)):
            shown.clear()
            monkeypatch.setattr(sys, "stderr", Terminal() if terminal else io.StringIO())
            with monkeypatch.context() as patch:
                patch.setattr(bars, "terminal_bar", lambda: _Given(told))
                call()
            assert bool(shown) in ((wanted,) if number in (2, 3, 4) else (wanted, False))  # short runs may tell nothing


class _Given:
    """A bar for a test."""

    def __init__(self, told: Callable[..., object]) -> None:
        self.told = told

    def __enter__(self) -> Callable[..., object]:
        self.told("there")
        return self.told

    def __exit__(self, *_: object) -> None: ...


def test_the_bar_on_a_terminal_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    with bars.bar() as update:
        assert update is not None
        update(1, 2, "half of it")


def test_a_function_gets_what_it_got_before() -> None:
    seen: list[tuple[object, ...]] = []
    for call in calls(lambda *about: seen.append(about)):
        call()
    assert {len(about) for about in seen} <= {2, 3}
    done: list[tuple[int, int, str]] = []
    sg.compare(NETWORK, FLOWS, disciplines="red", seeds=2, jobs=1, **SHORT, progress=lambda *a: done.append(a))
    assert done == [(1, 2, "red"), (2, 2, "red")]


def test_a_notebook_gets_a_bar_that_goes_again(monkeypatch: pytest.MonkeyPatch) -> None:
    display = pytest.importorskip("IPython.display")
    pages: list[tuple[str, str]] = []

    class Handle:
        def update(self, page: dict[str, str], raw: bool) -> None:
            assert raw
            pages.append((page["text/html"], page["text/plain"]))

    def displayed(page: dict[str, str], raw: bool, display_id: bool) -> Handle:
        assert display_id
        assert pages == [], "one output, which changes"
        Handle().update(page, raw)
        return Handle()

    monkeypatch.setattr(display, "display", displayed)
    monkeypatch.setattr(bars, "in_notebook", lambda: True)
    with bars.bar() as update:
        assert update is not None
        for done in range(4):
            time.sleep(0.11)
            update(done, 3 if done < 3 else None, "a < b")
    drawn = [f"<progress{far}></progress> a &lt; b" for far in (' value="1" max="3"', "")]
    assert pages == [(html, "a < b") for html in drawn] + [("", "")]
