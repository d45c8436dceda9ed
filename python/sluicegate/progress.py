"""How far the work is: a bar on a terminal or in a notebook, or a caller's function."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from typing import Any, TypeVar

Update = Callable[[float, float | None, str], object]
"""Takes the work done so far, the whole work (None: not known), and a text."""

Told = TypeVar("Told", bound=Callable[..., object])


@contextmanager
def bar(wanted: bool | None = None) -> Iterator[Update | None]:
    """A bar that is there as long as the block, as a function; None where there is no place for one.

    `wanted`: None for one on a terminal's standard error or in a notebook, True for one anywhere, False for none.
    """
    notebook = in_notebook()
    if wanted is False or not (wanted or notebook or sys.stderr.isatty()):
        yield None
        return
    with notebook_bar() if notebook else terminal_bar() as update:
        yield update


@contextmanager
def shown(progress: Told | bool | None, said: Callable[..., tuple[float, float | None, str]]) -> Iterator[Told | None]:
    """What is to be called with the progress of the block: a caller's function, or one that moves a bar.

    `progress`: the function, or whether there is to be a bar, as for `bar`. `said`: what a bar is told, from the
    arguments of the function.
    """
    if progress is not None and not isinstance(progress, bool):
        yield progress
        return
    with bar(progress) as update:
        told: Any = None if update is None else lambda *arguments: update(*said(*arguments))
        yield told


def in_notebook() -> bool:
    """Whether what is displayed appears in a Jupyter notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"


@contextmanager
def terminal_bar() -> Iterator[Update]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=None)
        yield lambda done, total, text: progress.update(task, completed=done, total=total, description=text)


@contextmanager
def notebook_bar() -> Iterator[Update]:
    """A bar in HTML, which needs no widgets, and leaves nothing behind; a short work shows none. It is a single output
    that changes, with a text for where there is no HTML."""
    from IPython.display import display  # type: ignore[import-not-found, unused-ignore]

    last, handle = time.monotonic(), None

    def update(done: float, total: float | None, text: str) -> None:
        nonlocal last, handle
        if time.monotonic() - last < 0.2:
            return
        last = time.monotonic()
        far = "" if total is None else f' value="{done:g}" max="{total:g}"'  # without, it moves to and fro
        page = {"text/html": f"<progress{far}></progress> {escape(text)}", "text/plain": text}
        if handle is None:
            handle = display(page, raw=True, display_id=True)  # type: ignore[no-untyped-call]
        else:
            handle.update(page, raw=True)

    try:
        yield update
    finally:
        if handle is not None:
            handle.update({"text/html": "", "text/plain": ""}, raw=True)
