"""The server of the page: who is let in, what it serves, and how it is fed with real packets."""

from __future__ import annotations

import http.client
import json
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from conftest import Program
from test_shell_packets import real

from sluicegate.live import served


@pytest.fixture
def html(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """A page that is no larger than a test needs."""
    text = b"<!doctype html><title>page</title>"
    (tmp_path / "page.html").write_bytes(text)
    monkeypatch.setattr(served, "PAGE", tmp_path / "page.html")
    return text


def get(address: str, path: str | None = None, host: str | None = None) -> tuple[int, bytes]:
    """What the server answers."""
    parts = urlsplit(address)
    with closing(http.client.HTTPConnection(parts.netloc, timeout=20)) as connection:
        connection.request("GET", parts.path if path is None else path, headers={} if host is None else {"Host": host})
        answer = connection.getresponse()
        return answer.status, answer.read()


@pytest.fixture
def fed(html: bytes) -> Iterator[tuple[str, served.Feed]]:
    with served.Page().fed() as pair:
        yield pair


def test_who_knows_the_address_gets_the_page_and_nobody_else(fed: tuple[str, served.Feed], html: bytes) -> None:
    address, _ = fed
    assert urlsplit(address).hostname == "127.0.0.1"
    assert len(urlsplit(address).path) > 20, "nobody guesses it"
    assert get(address) == (200, html)
    port = urlsplit(address).port
    assert get(address, host=f"localhost:{port}")[0] == 200
    for path in ("/", "/guess/", "/events", urlsplit(address).path + "../", urlsplit(address).path + "other"):
        assert get(address, path)[0] == 404, path
    assert get(address, host="evil.example")[0] == 404, "a name that leads here"


def test_every_page_is_told_the_newest_and_the_end(fed: tuple[str, served.Feed]) -> None:
    address, feed = fed
    told: list[bytes] = []
    events = urlsplit(address).path + "events"
    pages = [threading.Thread(target=lambda: told.append(get(address, events)[1])) for _ in range(2)]
    feed.tell({"time_s": 1})
    for page in pages:
        page.start()
    while len(threading.enumerate()) < 4:
        pass
    feed.tell({"time_s": 2})
    feed.end()
    for page in pages:
        page.join(10)
    for text in told:
        assert text.endswith(b"event: end\ndata: {}\n\n")
        assert json.loads(text.split(b"\n\n")[-3].removeprefix(b"data: ")) == {"time_s": 2}
    assert len(told) == 2


def test_a_page_that_was_not_built(sluicegate: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served, "PAGE", tmp_path / "gone.html")
    done = sluicegate("live", "--no-open")
    assert done.returncode == 2
    assert done.stderr == (
        "error: the page was not built into this package: run `make web` in a checkout (it needs Node.js and Rust's "
        "target wasm32-unknown-unknown), or install a wheel of a release\n"
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["gone.toml"], "gone.toml: no such file"),
        (["unresponsive", "--set", "queue.discipline=coddel"], 'did you mean "codel"?'),
    ],
)
def test_what_live_refuses(sluicegate: Program, html: bytes, arguments: list[str], said: str) -> None:
    done = sluicegate("live", "--no-open", *arguments)
    assert done.returncode == 2
    assert said in done.stderr


def test_a_port_that_is_taken(sluicegate: Program, html: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        done = sluicegate("live", "--no-open", "--port", str(port))
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: --port {port}: Address already in use")


def test_a_discipline_in_python_is_refused(sluicegate: Program, html: bytes, tmp_path: Path) -> None:
    own = tmp_path / "own.py"
    own.write_text(
        "import sluicegate as sg\n\nclass Own(sg.Aqm):\n"
        "    def enqueue(self, packet, ctx):\n        pass\n    def dequeue(self, ctx):\n        return None\n"
    )
    done = sluicegate("live", "--no-open", "unresponsive", "--set", f"queue.discipline={own}:Own")
    assert done.returncode == 2
    assert "is written in Python; the page runs only built-in disciplines" in done.stderr


def begin(page: Path, *arguments: str) -> subprocess.Popen[str]:
    """Start the program with this page."""
    code = (
        "import sys; from pathlib import Path; from sluicegate.cli import main; from sluicegate.live import served; "
        f"served.PAGE = Path({str(page)!r}); sys.argv = {['sluicegate', *arguments]!r}; main()"
    )
    return subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)


def test_live_serves_until_ctrl_c(html: bytes, tmp_path: Path) -> None:
    with begin(tmp_path / "page.html", "live", "dsl", "--no-open", "--seed", "3") as program:
        assert program.stderr is not None
        address = next(line for line in program.stderr if "#s=" in line).strip()
        assert get(address) == (200, html)
        program.send_signal(signal.SIGINT)
        assert program.wait(10) == 130


SENDER = """\
import os, socket, time
out = socket.socket(type=socket.SOCK_DGRAM)
for _ in range(400):
    out.sendto(bytes(1000), (os.environ["SLUICEGATE_PEER"], 9))
    time.sleep(0.005)
"""


@real
def test_packets_that_wait_are_told(html: bytes, tmp_path: Path) -> None:
    # Without root the program goes on in namespaces of its own, but only as itself: here it has the rights already.
    (tmp_path / "send.py").write_text(SENDER)
    link = ("--rate", "800 kbit/s", "--queue", "codel", "--peer", "exec sleep 4")
    sender = (sys.executable, str(tmp_path / "send.py"))
    with begin(tmp_path / "page.html", "shell", "--live", *link, "--", *sender) as program:
        assert program.stderr is not None
        found = next(match for line in program.stderr if (match := re.search(r"http://\S+#live", line)))
        status, told = get(found[0], urlsplit(found[0]).path + "events")
        assert (status, program.wait(20)) == (200, 0)
    said = [json.loads(each[6:]) for each in told.split(b"\n\n") if each.startswith(b'data: {"time_s')]
    times = [each["time_s"] for each in said]
    assert len(times) > 20, "some twenty in a second"
    assert times == sorted(times)
    up = [next(link for link in each["links"] if link["name"] == "up") for each in said]
    for link in up:
        ages = link["waiting"][2::3]
        assert len(ages) == link["queue_packets"]
        assert ages == sorted(ages, reverse=True), "the head has waited longest"
    assert max(link["queue_packets"] for link in up) > 30, "twice the rate of the link"
