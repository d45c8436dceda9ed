"""That the browser of the tests notices what is wrong with a page."""

from __future__ import annotations

from pathlib import Path

import pytest
from browser import chromium, open_page
from matplotlib.figure import Figure

from sluicegate.page import PIXELS, Page, Section

DOT = "data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw=="
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


@pytest.mark.parametrize(
    ("extra", "complaint"),
    [
        ('<img src="figures/gone.svg" alt="gone">', "image without a picture: gone"),
        ('<img src="data:image/svg+xml;base64,PGE+" alt="broken">', "image without a picture: broken"),
        ("<script>throw new Error('boom')</script>", "script-src"),
        (f'<img style="width:0" src="{DOT}" alt="thin">', "image of no size: thin"),
    ],
)
def test_a_broken_page_is_noticed(tmp_path: Path, extra: str, complaint: str) -> None:
    broken = tmp_path / "broken.html"
    head = f'<!doctype html><meta http-equiv="Content-Security-Policy" content="{POLICY}"><title>x</title>'
    broken.write_text(f"{head}<main>{extra}</main>", "utf-8")
    assert any(complaint in error for error in open_page(broken).errors)


def test_a_script_that_throws_is_noticed(tmp_path: Path) -> None:
    broken = tmp_path / "throws.html"
    broken.write_text("<!doctype html><title>x</title><script>throw new Error('boom')</script>", "utf-8")
    assert any("boom" in error for error in open_page(broken).errors)


def test_a_missing_browser_fails_with_a_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLUICEGATE_CHROMIUM", "/no/such/browser")
    with pytest.raises(AssertionError, match=r"no Chromium found \(looked for /no/such/browser\): install it"):
        chromium()


def test_figures_of_results_have_one_type_size_whatever_their_width(tmp_path: Path) -> None:
    figures = [Figure(figsize=(width, 2)) for width in (7.2, 9.6, 10.4)]
    sections = [Section(f"part-{at}", f"Part {at}", figure=figure) for at, figure in enumerate(figures)]
    file = tmp_path / "page.html"
    file.write_text(Page("Title", "", sections, {}).html(), "utf-8")
    page = open_page(file)
    assert page.errors == []
    assert len(page.drawings) == 3
    for drawing in page.drawings:
        assert drawing["scale"] == pytest.approx(PIXELS, abs=0.01), drawing["section"]
