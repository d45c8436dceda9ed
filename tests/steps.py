"""A page of the manual followed to the letter: its files are written, its commands run, what they print is compared.

What a block of code asks for stands in the sentence above it, where the reader sees it too:

    A new file `PATH`:                  the block becomes that file
    Add this to `PATH`, below `LINE`:   the block is inserted there, below the only such line

A `console` block is typed line by line, as far as lines begin with `$ `; the others are what is printed, and a line `…`
stands for any number of lines. Blocks without a language are neither. Any other block is a mistake of the page.

A page whose outputs have changed on purpose is written anew by `SLUICEGATE_WRITE_MANUAL=1 pytest tests/test_manual.py`.
"""

from __future__ import annotations

import difflib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

WRITE = "SLUICEGATE_WRITE_MANUAL"
BIN = Path(sys.executable).parent


@dataclass(frozen=True)
class Block:
    """A block of code, the paragraph above it, and where it stands in the text."""

    above: str
    language: str
    text: str
    start: int
    line: int


def blocks(text: str) -> Iterator[Block]:
    """The fenced blocks of a Markdown text."""
    for found in re.finditer(r"^```(\S*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        above = text[: found.start()].rstrip("\n").rsplit("\n\n", 1)[-1]
        line = text.count("\n", 0, found.start()) + 1
        yield Block(" ".join(above.split()), found[1], found[2], found.start(2), line)


def insert(path: Path, below: str, text: str) -> None:
    """Insert lines below the only line of the file that reads `below`, but for space around it."""
    lines = path.read_text("utf-8").splitlines(keepends=True)
    [at] = [number for number, line in enumerate(lines) if line.strip() == below.strip()]
    path.write_text("".join([*lines[: at + 1], text, *lines[at + 1 :]]), "utf-8")


def typed(command: str, folder: Path) -> str:
    """What a command prints on a terminal of 100 columns."""
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "MFLAGS"))}
    environment = inherited | {"PATH": f"{BIN}:{os.environ['PATH']}", "COLUMNS": "100", "CARGO_TERM_COLOR": "never"}
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )
    said = "\n".join(line.rstrip() for line in done.stdout.strip("\n").splitlines())
    assert (done.returncode != 0) == said.startswith("error:"), f"{command}: exit status {done.returncode}\n{said}"
    return said.strip("\n") + "\n" if said.strip() else ""


def console(text: str, folder: Path) -> str:
    """The block as it would have been printed."""
    parts = re.split(r"^\$ (.*)\n", text, flags=re.MULTILINE)
    assert not parts[0], "a console block begins with a command"
    printed = ""
    for command, shown in zip(parts[1::2], parts[2::2], strict=True):
        said = typed(command, folder)
        pattern = "".join(".*" if line == "…\n" else re.escape(line) for line in shown.splitlines(keepends=True))
        printed += f"$ {command}\n" + (shown if re.fullmatch(pattern, said, re.DOTALL) else said)
    return printed


def follow(page: Path, folder: Path) -> None:
    """Follow a page in `folder`. Raises AssertionError where it is wrong."""
    text = page.read_text("utf-8")
    followed = text
    for block in blocks(text):
        if new := re.search(r"A new file `([^`]+)`:$", block.above):
            target = folder / new[1]
            target.parent.mkdir(parents=True, exist_ok=True)
            assert not target.exists(), f"{page.name}:{block.line}: {new[1]} exists already"
            target.write_text(block.text, "utf-8")
        elif place := re.search(r"Add this to `([^`]+)`, below `([^`]+)`:$", block.above):
            insert(folder / place[1], place[2], block.text)
        elif block.language == "console":
            printed = console(block.text, folder)
            offset = len(followed) - len(text)  # what stood above may have changed its length
            start = block.start + offset
            followed = followed[:start] + printed + followed[start + len(block.text) :]
        else:
            assert not block.language, f"{page.name}:{block.line}: nothing above says what to do with this block"
    if os.environ.get(WRITE):
        page.write_text(followed, "utf-8")
    difference = difflib.unified_diff(text.splitlines(), followed.splitlines(), page.name, "as typed", n=1, lineterm="")
    assert followed == text, "\n".join(difference)
