"""The Rust core. `api` is what people use; this only says what crosses the border."""

from collections.abc import Callable, Sequence
from typing import TypedDict

class ScenarioError(ValueError):
    """A scenario that cannot be run: `file:line: key = value: rule`, and the nearest name where that helps."""

class RawRun(TypedDict):
    """What a run gives: `summary` as JSON, and of each table its columns as (name, dtype, payload)."""

    summary: str
    tables: dict[str, list[tuple[str, str, bytes | list[str]]]]

def version() -> str: ...
def declarations() -> str: ...
def check(text: str, name: str, sets: Sequence[tuple[str, str]]) -> str: ...
def run(
    text: str,
    name: str,
    sets: Sequence[tuple[str, str]],
    progress: Callable[[float, float, int], object] | None,
) -> RawRun: ...
