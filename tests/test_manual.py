"""The manual does what it says: pages are followed to the letter, the site is built without a warning, links hold."""

from __future__ import annotations

import json
import os
import re
import runpy
import shutil
import struct
import subprocess
import sys
import tomllib
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from browser import open_page
from steps import follow
from tc import missing, options, traced

from sluicegate import _core

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"

# --- pages followed ----------------------------------------------------------------------------

# The same code, built for the shortest wait: nothing here is measured.
QUICK = {"OPT_LEVEL": "0", "LTO": "off", "CODEGEN_UNITS": "16", "DEBUG": "false", "INCREMENTAL": "true"}


@pytest.fixture
def checkout() -> Path:
    """A copy of the working tree that may be changed. Its place is always the same: cargo then builds little anew."""
    copy = ROOT / "target/manual/checkout"
    shutil.rmtree(copy, ignore_errors=True)
    kept = shutil.ignore_patterns(".git", ".venv", "target", "out", "*.so", "__pycache__", ".*_cache", ".hypothesis")
    shutil.copytree(ROOT, copy, ignore=kept)  # with the times of the files, by which cargo and make go
    (copy / ".venv").symlink_to(ROOT / ".venv")
    # Not the target of this tree: cargo would take the one crate for the other.
    (copy / "target").symlink_to(ROOT / "target/manual")
    return copy


@pytest.mark.full
@pytest.mark.timeout(400)
def test_a_discipline_is_added_in_rust_as_the_manual_says(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CARGO_TARGET_DIR", str(checkout / "target"))
    for key, value in QUICK.items():
        monkeypatch.setenv(f"CARGO_PROFILE_RELEASE_{key}", value)
    follow(DOCS / "rust-discipline.md", checkout)
    page = (checkout / "docs/reference/disciplines.md").read_text("utf-8")
    assert "| [`drop_front`](#drop_front) | `sluicegate.DropFront` | Drop Front |" in page


# The commands of each page take more than five seconds of a processor, together more than a minute.
LONG = (
    *("own-link", "home-line", "choosing-red", "theory-choke", "sweeps", "evaluate", "evaluate-congestion-control"),
    "learn",
)


@pytest.mark.parametrize(
    "page",
    [
        *("first-scenario", "own-discipline", "driving", "own-endpoint", "differences"),
        *(pytest.param(page, marks=pytest.mark.full) for page in LONG),
    ],
)
def test_a_page_is_right_to_the_letter(tmp_path: Path, page: str) -> None:
    follow(DOCS / f"{page}.md", tmp_path)


@pytest.mark.full
@pytest.mark.timeout(600)
def test_a_congestion_control_in_rust_runs_as_the_manual_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(ROOT / "target" / "own"))  # as tests/test_own_rust.py
    follow(DOCS / "own-controller.md", tmp_path)


def test_the_readme_is_right_to_the_letter(tmp_path: Path) -> None:
    follow(ROOT / "README.md", tmp_path)


def test_the_page_on_installing_asks_for_what_make_asks_for() -> None:
    page = DOCS.joinpath("install.md").read_text("utf-8")
    asked = ROOT.joinpath("tools/prerequisites").read_text("utf-8")
    for name, variable in (("Rust", "rust_wanted="), ("Python", "python_wanted=")):
        [version] = [line.removeprefix(variable) for line in asked.splitlines() if line.startswith(variable)]
        assert f"{name} {version} or newer" in page


# --- the site ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The manual as `make docs` builds it: a warning, and an exception in the notebook, is an error."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet", DOCS, folder]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8")
    assert done.returncode == 0, done.stdout
    return folder


FETCHED = {"img": "src", "script": "src", "link": "href", "iframe": "src", "source": "src"}


class Page(HTMLParser):
    """What a page of the site has: anchors, links, and what a browser fetches to show it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = dict(attributes)
        self.anchors |= {value for key in ("id", "name") if (value := values.get(key))}
        if tag == "a" and (href := values.get("href")):
            self.links.append(href)
        elif (address := values.get(FETCHED.get(tag, ""))) and values.get("rel") != "canonical":
            self.fetched.append(address)


@pytest.mark.full
def test_links_lead_somewhere_and_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    pages = {path: Page(path) for path in site.rglob("*.html")}
    assert len(pages) > 20
    dead = []
    for path, page in pages.items():
        for address in page.links + page.fetched:
            parts = urlsplit(address)
            if parts.scheme in ("http", "https") and address in page.links:
                continue  # another's page, which no test asks for
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            there = parts.scheme in ("", "data") and (parts.scheme == "data" or target.is_file())
            if not there or (parts.fragment and target in pages and parts.fragment not in pages[target].anchors):
                dead.append(f"{path.relative_to(site)}: {address}")
    assert not dead
    for sheet in site.rglob("*.css"):
        text = sheet.read_text("utf-8")
        assert "url(http" not in text
        assert "url(//" not in text
        assert "@import" not in text


def test_links_in_the_repository_lead_somewhere() -> None:
    """As a forge shows the files: README and CONTRIBUTING are not pages of the site, or are included in it."""
    for page in (*ROOT.glob("*.md"), *DOCS.rglob("*.md")):
        for address in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
            parts = urlsplit(address)
            if not parts.scheme and parts.path:
                assert (page.parent / parts.path).is_file(), f"{page.name}: {address}"


@pytest.mark.full
def test_a_browser_shows_the_site_without_a_server(site: Path) -> None:
    page = open_page(site / "reference/disciplines.html")
    assert page.errors == []
    assert "Pan & Prabhakar 1999" in page.text
    found = open_page(site / "search.html", query="q=drop_front", until="document.querySelector('#search-results li')")
    assert found.errors == []
    assert "A discipline of your own, in Rust" in found.text


@pytest.mark.full
def test_blocks_can_be_copied_without_their_prompts(site: Path) -> None:
    page = open_page(site / "first-scenario.html", until="document.querySelector('.highlight-console .copybtn')")
    assert page.errors == []
    assert "formatCopyText(text, '$ '," in site.joinpath("_static/copybutton.js").read_text("utf-8")


# --- notebook, picture, names ------------------------------------------------------------------


def test_the_notebook_is_kept_without_outputs() -> None:
    for path in DOCS.rglob("*.ipynb"):
        cells = [cell for cell in json.loads(path.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"]
        assert cells
        assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells), path.name


def test_the_picture_is_fresh() -> None:
    done = subprocess.run([sys.executable, ROOT / "tools/picture.py", "--check"], capture_output=True, encoding="utf-8")
    assert (done.returncode, done.stderr) == (0, "")


def test_the_page_on_performance_shows_what_was_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    tools = runpy.run_path(str(ROOT / "tools/generate.py"))
    shutil.copy(DOCS / "performance.md", tmp_path)
    (tmp_path / "bench.json").unlink(missing_ok=True)
    assert "No measurement is kept" in tools["performance"](tools["templates"](), tmp_path)
    machine = {"cpu": "A | B", "cores": 2, "system": "Linux", "rustc": "rustc 1.85.0", "python": "Python 3.11.7"}
    table = {"title": "Dumbbell", "note": "100 flows.", "columns": ["flows", "ns"], "rows": [[10, 1.5], [100, "2|3"]]}
    of = {"date": "2026-01-01", "version": "0.1.0", "machine": machine, "commit": "abc123", "digest": "0" * 12}
    today = of | {"digest": tools["measured_code"].digest()}
    part = {"tables": [table, table | {"title": "Second"}]}
    measured = {"old": part | {"measured": of}, "new": part | {"measured": today}}
    (tmp_path / "bench.json").write_text(json.dumps(measured), "utf-8")
    page = tools["performance"](tools["templates"](), tmp_path)
    assert "2026-01-01" in page
    rows = "| flows | ns |\n|---|---|\n| 10 | 1.5 |\n| 100 | 2\\|3 |\n"
    assert f"### Second\n\n100 flows.\n\n{rows}" in page
    assert page.count("commit abc123 (sources 000000000000): **other code than today's**.\n\n| flows") == 1
    assert page.count("commit abc123 (sources") == 2
    assert page.count("other code") == 1
    assert page.count("<!-- bench") == 2
    assert "## Measuring it yourself" in page


NAMES = tomllib.loads(ROOT.joinpath("tools/names.toml").read_text("utf-8"))


def words(table: str, column: str) -> list[str]:
    """The words that tools/names.toml has in a column of a table."""
    rows = NAMES[table]["keys"].values()
    return [word.strip() for row in rows for word in row.get(column, "").split(",") if word.strip()]


def test_what_has_a_name_elsewhere_is_declared() -> None:
    """The file names nothing that is not declared, and leaves no parameter of RED out."""
    declared = json.loads(_core.declarations())
    things = {thing["name"]: thing for thing in declared["disciplines"] + declared["sources"]}
    for name, table in NAMES.items():
        fields = {field["name"] for field in things[name]["fields"]}
        assert set(table["keys"]) <= fields
    ours = {field["name"] for field in things["red"]["fields"]} - set(NAMES["red"]["keys"])
    assert not ours, f"RED has a parameter that tools/names.toml does not place: {ours}"


@pytest.mark.skipif(shutil.which("ns") is None, reason="ns-2 is not installed")
def test_ns2_has_these_names(tmp_path: Path) -> None:
    asked = []
    for table in NAMES:
        own = NAMES[table]["columns"].get("ns2", "").partition("`")[2].rstrip("`")
        for word in words(table, "ns2"):
            of, _, attribute = word.rpartition(" ")
            if attribute.endswith("_"):
                asked.append(f"[new {of or own}] set {attribute}")
            elif of:
                asked.append(f"if {{[{of} info instprocs {attribute}] eq {{}}}} {{error none}}")
            else:
                asked.append(f"new {word}")
    lines = [f"if {{[catch {{{line}}} why]}} {{puts $why}}" for line in asked]
    script = tmp_path / "names.tcl"
    script.write_text("set ns [new Simulator]\n" + "\n".join(lines) + "\nputs done\n", "utf-8")
    done = subprocess.run(["ns", script], capture_output=True, encoding="utf-8", cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("done\n", "")
    assert len(asked) > 25


UNKNOWN = re.compile("What is|unknown parameter")


@pytest.mark.skipif(shutil.which("tc") is None and not Path("/sbin/tc").exists(), reason="tc is not installed")
def test_tc_knows_these_words() -> None:
    """tc reads its words before it asks the kernel; each is given without its value, so that nothing can be changed."""
    declared = {thing["name"]: thing for thing in json.loads(_core.declarations())["disciplines"]}
    environment = os.environ | {"PATH": os.environ["PATH"] + ":/sbin:/usr/sbin"}
    kinds = {"drop_tail": "pfifo", "choke_linux": "choke", "fq_linux": "fq"} | {
        kind: kind for kind in ("red", "choke", "sfb", "codel", "fq_codel", "pie", "fq_pie", "sfq")
    }
    # Switches of queues that need no value: given alone they would be whole commands.
    switches = {"ecn", "headdrop", "bytemode"}
    newer = {"weights"}  # of `fq`, which iproute2 6.1 does not have
    for name, kind in kinds.items():
        tc = ["tc", "qdisc", "add", "dev", "lo", "root", kind]
        skipped = {""} | newer | (switches if kind in ("sfq", "codel", "fq_codel", "pie", "fq_pie") else set())
        for word in (word.strip() for field in declared[name]["fields"] for word in field["tc"].split(",")):
            if word not in skipped:
                done = subprocess.run([*tc, word], capture_output=True, encoding="utf-8", env=environment)
                assert done.returncode != 0
                assert not UNKNOWN.search(done.stderr), f"{kind} {word}"
        unknown = subprocess.run([*tc, "nonsense"], capture_output=True, encoding="utf-8", env=environment)
        assert UNKNOWN.search(unknown.stderr)


def test_tcs_times_of_sfb_are_milliseconds() -> None:
    """The template gave seconds. Numbers go to the kernel as they are written."""
    [sfb] = [each for each in json.loads(_core.declarations())["disciplines"] if each["name"] == "sfb"]
    assert sfb["tc"].endswith("rehash MILLISECONDS db MILLISECONDS")
    if lacking := missing("tc", "strace", "unshare"):
        pytest.skip(f"{', '.join(lacking)} not installed")
    done = traced("tc qdisc add dev lo root sfb rehash 600000 db 60000")
    if "ptrace" in done.stderr or "unshare failed" in done.stderr:
        pytest.skip(f"not permitted here: {done.stderr.splitlines()[0]}")
    # struct tc_sfb_qopt begins with both; the kernel's sch_sfb.c turns them into jiffies by msecs_to_jiffies.
    assert struct.unpack_from("=II", options(done.stderr)[1]) == (600_000, 60_000)


@pytest.mark.skipif(shutil.which("ip") is None, reason="ip is not installed")
def test_ip_route_knows_these_words() -> None:
    usage = subprocess.run(["ip", "route", "help"], capture_output=True, encoding="utf-8").stderr.split()
    routes = [word for word in words("tcp", "linux") if "." not in word]
    assert routes
    assert set(routes) <= set(usage)
    sysctls = [word for word in words("tcp", "linux") if "." in word]
    assert all(word.startswith("net.ipv4.tcp_") for word in sysctls)
