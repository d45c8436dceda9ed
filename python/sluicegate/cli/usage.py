"""Mistakes of usage, such as an unknown option, told in one line like all others."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperGroup

from ..quantities import UNITS, did_you_mean

UsageError: Any = typer.BadParameter.__base__
"""Typer has it from one of two libraries, by its version."""

WORDS = {"Input should be": "must be", "greater than or equal to": "at least", "less than or equal to": "at most",
         "valid integer": "whole number", "valid number": "number", "requires an argument": "needs a value",
         "Got unexpected extra argument(s) (": "too many words: ("}  # fmt: skip
"""Words of the libraries that read options, and ours."""


class Commands(TyperGroup):
    """The commands of the program."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        with self.mistakes(ctx):
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        with self.mistakes(ctx):
            return super().invoke(ctx)

    @contextmanager
    def mistakes(self, ctx: Any) -> Iterator[None]:
        """End the program with one line where the block raises what a wrong option or argument does."""
        try:
            yield
        except UsageError as error:
            if type(error).__name__ == "NoArgsIsHelpError":
                raise
            command = (error.ctx or ctx).command_path
            print(f"error: {told(error, self)}; see `{command} --help`", file=sys.stderr)
            raise typer.Exit(2) from None


def told(error: Any, program: Any) -> str:
    """A mistake of usage with its fix, if that is known."""
    if hasattr(error, "possibilities"):
        name = error.option_name
        own = [option.lstrip("-") for parameter in error.ctx.command.params for option in parameter.opts]
        near = did_you_mean(name.lstrip("-"), own, "").replace('"', '"--', 1)
        others = sorted(path for path, command in every(program) if any(name in each.opts for each in command.params))
        elsewhere = f"; {', '.join(others[:3])} {'has' if len(others) == 1 else 'have'} it" if others else ""
        return f"no such option: {name}{near}{elsewhere}"
    said = str(error.format_message()).removesuffix(".").partition(", unable to parse")[0]
    for theirs, ours in WORDS.items():
        said = said.replace(theirs, ours)
    said = re.sub(r"'(-[^']*)'", r"\1", said.removeprefix("Invalid value for ").replace(". Did", "; did"))
    return f"{said[0].lower()}{said[1:]}{unquoted(sys.argv[1:]) if 'too many' in said else ''}"


def every(group: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """All commands with what they are called."""
    for name, command in group.commands.items():
        yield from every(command, f"{name} ") if hasattr(command, "commands") else [(f"`{path}{name}`", command)]


def unquoted(words: list[str]) -> str:
    """The end of a message about words too many: how a value with a space is quoted, if one seems to be among them."""
    for at, word in enumerate(words):
        if at and word in (*UNITS, "%", "packets") and words[at - 1][-1:].isdigit():
            option = f"{words[at - 2]} " if at > 1 and words[at - 2].startswith("-") else ""
            return f'; quote a value with a space: {option}"{words[at - 1]} {word}"'
    return ""
