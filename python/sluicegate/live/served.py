"""The page on this machine's loopback address: for simulations, or fed with real packets while they cross a link."""

from __future__ import annotations

import base64
import json
import os
import secrets
import socket
import threading
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from .. import _core

PAGE = Path(__file__).resolve().parents[1] / "web" / "sluicegate.html"
"""The page, which `make web` builds; wheels have it."""

ADDRESS = "127.0.0.1"

MARK = "SLUICEGATE_PAGE"
"""What tells a program that runs again of its listening socket: its file, and the token of its address."""

PATIENCE = 15.0
"""Seconds after which a page that has nothing new is told so, which shows whether it is still there."""


def page() -> bytes:
    """The page. Raises `ScenarioError` where it was not built."""
    try:
        return PAGE.read_bytes()
    except FileNotFoundError:
        raise _core.ScenarioError(
            "the page was not built into this package: run `make web` in a checkout (it needs Node.js and Rust's "
            "target wasm32-unknown-unknown), or install a wheel of a release"
        ) from None


def fragment(text: str, sets: Mapping[str, str], seed: int | None = None) -> str:
    """The end of an address that opens the page with a scenario: see web/src/state.ts."""
    state = {"text": text, "sets": dict(sets), "seed": "" if seed is None else str(seed)}
    packer = zlib.compressobj(9, wbits=-15)
    packed = packer.compress(json.dumps(state).encode()) + packer.flush()
    return "s=" + base64.urlsafe_b64encode(packed).decode().rstrip("=")


def saved(html: bytes, opens: str) -> bytes:
    """The page that opens with a scenario, unless its address names another. `opens`: see `fragment`."""
    start = b"<script>if (!location.hash) location.hash = " + json.dumps(opens).encode() + b"</script>"
    return html.replace(b"</title>", b"</title>" + start, 1)


class Feed:
    """What the pages are told: the newest status, and the end. Slow pages miss some, and hold nobody up."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._number = 0
        self._text = ""
        self._over = False

    def tell(self, status: Mapping[str, Any]) -> None:
        """Tell all pages something."""
        with self._changed:
            self._number, self._text = self._number + 1, json.dumps(status)
            self._changed.notify_all()

    def end(self) -> None:
        """Tell all pages that nothing more comes."""
        with self._changed:
            self._over = True
            self._changed.notify_all()

    def events(self) -> Iterator[bytes]:
        """What one page is sent: server-sent events."""
        seen = 0
        while True:
            with self._changed:
                if self._number == seen and not self._over:
                    self._changed.wait(PATIENCE)
                if self._number == seen:
                    yield b"event: end\ndata: {}\n\n" if self._over else b": nothing new\n\n"
                    if self._over:
                        return
                    continue
                seen, text = self._number, self._text
            yield f"data: {text}\n\n".encode()


class Served:
    """The page at an address that nobody guesses. `feed`: what it is told, if it is fed."""

    def __init__(self, listening: socket.socket, token: str, html: bytes, feed: Feed | None) -> None:
        port = listening.getsockname()[1]
        self.address = f"http://{ADDRESS}:{port}/{token}/" + ("#live" if feed else "")
        handler = _handler(f"/{token}/", html, feed, {f"{ADDRESS}:{port}", f"localhost:{port}"})
        self._server = ThreadingHTTPServer((ADDRESS, port), handler, bind_and_activate=False)
        self._server.daemon_threads = True
        self._server.socket.close()
        self._server.socket = listening
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True, name="page")
        self._thread.start()

    def close(self) -> None:
        """End it."""
        self._server.shutdown()
        self._server.server_close()


def listen(port: int = 0) -> tuple[socket.socket, str]:
    """A listening socket on the loopback address, and a token; those of before where this program runs again.

    Raises OSError when the port is taken.
    """
    if given := os.environ.pop(MARK, None):
        number, _, token = given.partition(":")
        listening = socket.socket(fileno=int(number))
        listening.set_inheritable(False)  # the command behind the link does not get it
        return listening, token
    listening = socket.create_server((ADDRESS, port))
    return listening, secrets.token_urlsafe(16)


class Page:
    """A page that is told what real packets do.

    It listens before the program may go on in namespaces of its own, where no browser of this machine would find it.
    Raises `ScenarioError` where the page was not built.
    """

    def __init__(self) -> None:
        self._html = page()
        self._listening, self._token = listen()

    @contextmanager
    def kept(self) -> Iterator[list[int]]:
        """Its files, for a program that may run again in the block."""
        os.environ[MARK] = f"{self._listening.fileno()}:{self._token}"
        try:
            yield [self._listening.fileno()]
        finally:
            os.environ.pop(MARK, None)

    @contextmanager
    def fed(self) -> Iterator[tuple[str, Feed]]:
        """Serve it during the block: its address, and what to tell it by."""
        feed = Feed()
        served = Served(self._listening, self._token, self._html, feed)
        try:
            yield served.address, feed
        finally:
            feed.end()
            served.close()


def _handler(root: str, html: bytes, feed: Feed | None, hosts: set[str]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            # Another site whose name leads here is refused by the name, and whoever guesses by the token.
            if self.headers.get("Host") not in hosts or not path.startswith(root):
                self.send_error(404)
            elif path == root:
                self._send(html)
            elif path == f"{root}events" and feed is not None:
                self._feed(feed)
            else:
                self.send_error(404)

        def _send(self, body: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Referrer-Policy", "no-referrer")
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(body)

        def _feed(self, feed: Feed) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Cache-Control", "no-store")
            self.send_header("Connection", "close")
            self.end_headers()
            self.close_connection = True
            try:
                for event in feed.events():
                    self.wfile.write(event)
                    self.wfile.flush()
            except OSError:
                pass  # the page has been closed

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    return Handler
