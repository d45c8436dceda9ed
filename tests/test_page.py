"""The report in a browser: every figure is there and drawn, and nothing goes wrong; and that this test would notice."""

from __future__ import annotations

from pathlib import Path

import pytest
from browser import Page, chromium, open_page
from tiny import FIGURES, TINY

from sluicegate.papers import reproduce

DOT = "data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw=="


@pytest.fixture(scope="module")
def report_html(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a tiny reproduction."""
    out = tmp_path_factory.mktemp("page") / "choke1999"
    reproduce("choke1999", out, settings=TINY)
    return out / "report.html"


@pytest.fixture(scope="module")
def page(report_html: Path) -> Page:
    """What the browser made of it."""
    return open_page(report_html)


def test_the_page_opens_without_an_error(page: Page) -> None:
    assert page.errors == []
    assert page.title == "CHOKe 1999, reproduced"


def test_every_figure_is_drawn(page: Page) -> None:
    assert [image["section"] for image in page.images] == list(FIGURES)
    for image in page.images:
        assert min(image["natural"]) > 100
        assert image["shown"][0] > 600
        assert image["alt"]
        assert not image["external"]


def test_the_page_says_all_that_it_must(page: Page) -> None:
    for words in (
        "Figure 2", "Figure 19", "Synchronisation", "THE PAPER SAYS", "WE MEASURED", "What the paper leaves open",
        "kbit/s", "1 to 2 (2 runs of each point)", "20 s for each run, the first 5 s not measured",
        'discipline = "choke"',
    ):  # fmt: skip
        assert words in page.text, words


def test_the_page_is_no_wider_than_its_window(page: Page) -> None:
    assert page.width <= 1200


def test_the_page_needs_nothing_beside_it(report_html: Path, tmp_path: Path) -> None:
    alone = tmp_path / "moved.html"
    alone.write_bytes(report_html.read_bytes())
    assert open_page(alone).errors == []
    assert "<script" not in alone.read_text("utf-8")


@pytest.mark.parametrize(
    ("extra", "complaint"),
    [
        ('<img src="figures/gone.svg" alt="gone">', "image without a picture: gone"),
        ('<img src="data:image/svg+xml;base64,PGE+" alt="broken">', "image without a picture: broken"),
        ("<script>throw new Error('boom')</script>", "script-src"),
        (f'<img style="width:0" src="{DOT}" alt="thin">', "image of no size: thin"),
    ],
)  # fmt: skip
def test_a_broken_report_is_noticed(report_html: Path, tmp_path: Path, extra: str, complaint: str) -> None:
    broken = tmp_path / "broken.html"
    broken.write_text(report_html.read_text("utf-8").replace("</main>", extra + "</main>"), "utf-8")
    assert any(complaint in error for error in open_page(broken).errors)


def test_a_script_that_throws_is_noticed(tmp_path: Path) -> None:
    broken = tmp_path / "throws.html"
    broken.write_text("<!doctype html><title>x</title><script>throw new Error('boom')</script>", "utf-8")
    assert any("boom" in error for error in open_page(broken).errors)


def test_a_missing_browser_fails_with_a_mend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLUICEGATE_CHROMIUM", "/no/such/browser")
    with pytest.raises(AssertionError, match=r"no Chromium found \(looked for /no/such/browser\): install it"):
        chromium()
