"""What the manual says of links as they are: framings by name, the bundled scenarios, an example that is followed."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from steps import WRITE, follow

import sluicegate as sg
from sluicegate.traffic import paths

PAGE = Path(__file__).parents[1] / "docs/scenarios.md"
SECTION = PAGE.read_text("utf-8").split("## Links as they are\n")[1].split("\n## ")[0]


def rows(first: str) -> list[list[str]]:
    """The cells of the rows of the table whose heading begins with `first`."""
    [table] = [each for each in SECTION.split("\n\n") if each.startswith(f"| {first} |")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in table.splitlines()[2:]]


def test_framings_have_the_bytes_that_the_page_says() -> None:
    names = []
    for framing, around, least, cells, long, short in rows("`framing`"):
        [name] = re.findall(r'"(\w+)"', framing)
        names.append(name)
        [place] = paths.places(sg.check("mixed_round_trips", sets={"network.framing": name}))
        kind = cells.split(":")[0].strip("`")
        assert place.framing == paths.Framing(int(around), int(least.replace("–", "0")), kind)
        assert [place.framing.on_wire(length) for length in (1500, 40)] == [int(long), int(short)]
    assert set(names) == {"ethernet", "pppoe", "docsis", "ptm", "atm"}


SAID = {
    "dsl": "16 Mbit/s down and 1 Mbit/s up",
    "cable": "100 Mbit/s down and 10 Mbit/s up",
    "lte": "9.4 Mbit/s",
    "satellite": "25 Mbit/s",
    "wifi": "aggregates",
}


def test_the_bundled_links_are_as_the_page_says() -> None:
    found = {name.strip("`"): said for name, said in rows("bundled scenario")}
    assert set(found) == set(SAID)
    for name, said in found.items():
        assert SAID[name] in said
        links = paths.links(sg.check(name))
        for link, rate in zip(links, re.findall(r"([\d.]+) Mbit/s (?:down|up|on)", said), strict=False):
            assert link.rate_bps / 1e6 == pytest.approx(float(rate), rel=0.01)
        assert [link.varies for link in links] == [name in ("lte", "wifi")] * len(links)


def test_the_section_is_right_to_the_letter(tmp_path: Path) -> None:
    """By itself: other blocks of the page are parts of files."""
    section = tmp_path / "section.md"
    section.write_text(SECTION, "utf-8")
    try:
        follow(section, tmp_path)
    finally:
        if os.environ.get(WRITE):
            PAGE.write_text(PAGE.read_text("utf-8").replace(SECTION, section.read_text("utf-8")), "utf-8")
