"""Mistakes of usage, such as an unknown option, reported in one line like all other mistakes."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import typer
from typer.core import TyperGroup

from ..quantities import UNITS, did_you_mean

UsageError: Any = typer.BadParameter.__base__
"""Typer has it from one of two libraries, by its version."""

WORDS = {
    "Input should be": "must be",
    "greater than or equal to": "at least",
    "less than or equal to": "at most",
    "valid integer": "whole number",
    "valid number": "number",
    "requires an argument": "needs a value",
}
"""Words of the libraries that read options, and ours."""


class Commands(TyperGroup):
    """The commands of the program, or of one that has several."""

    program: ClassVar[typer.Typer]
    """The whole program, with all its commands; `common` makes it."""

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
            where = error.ctx or ctx
            if error.ctx is None and ctx.invoked_subcommand:  # the parser of options does not say which
                where = type(ctx)(self.commands[ctx.invoked_subcommand], info_name=ctx.invoked_subcommand, parent=ctx)
            print(f"error: {told(error, where)}; see `{where.command_path} --help`", file=sys.stderr)
            raise typer.Exit(2) from None


def told(error: Any, where: Any) -> str:
    """A mistake of usage with its fix, if that is known, or how the option, argument or command is used. `where`: the
    context of the command."""
    name = getattr(error, "option_name", "")
    if hasattr(error, "possibilities") and name:
        own = [option.lstrip("-") for parameter in where.command.params for option in parameter.opts]
        near = did_you_mean(name.lstrip("-"), own, "").replace('"', '"--', 1)
        commands = every(typer.main.get_command(Commands.program))
        others = sorted(path for path, command in commands if any(name in each.opts for each in command.params))
        elsewhere = f"; {', '.join(others[:3])} {'has' if len(others) == 1 else 'have'} it" if others else ""
        return f"no such option: {name}{near}{elsewhere}"
    said = " ".join(str(error.format_message()).split()).removesuffix(".").partition(", unable to parse")[0]
    for theirs, ours in WORDS.items():
        said = said.replace(theirs, ours)
    if unknown := re.match("No such command '(.*?)'", said):
        return f'no such command: "{unknown[1]}"{did_you_mean(unknown[1], where.command.commands)}'
    if many := re.fullmatch(r"Got unexpected extra argument\S* \((.*)\)", said):
        return f"too many words: {many[1]}{unquoted(sys.argv[1:]) or f'; usage: {usage(None, where)}'}"
    named = [each for each in where.command.params if name in (*each.opts, *each.secondary_opts)]
    used = usage(getattr(error, "param", None) or next(iter(named), None), where)
    if missing := re.match("Missing (argument|option|parameter)", said):
        return f"missing {missing[1]}: {used}"
    said = re.sub(r"'(-[^']*|[A-Z_]+)'", r"\1", said.removeprefix("Invalid value for "))
    for each in getattr(error.__cause__, "errors", list)()[:1]:
        said = said.replace(":", f" {' '.join(str(each['input']).split())}:", 1)
    return f"{said[0].lower()}{said[1:]}; usage: {used}"


def usage(parameter: Any, where: Any) -> str:
    """How an option or an argument is given, as --help has it, in a line; or, for None, the command."""
    if parameter is None:
        return re.sub(r"\{(.*?)\}|\[(\[.*?\])\]", r"\1\2", " ".join(where.command.get_usage(where).split()[1:]))
    given, text = parameter.get_help_record(where)
    text = re.sub(r"\.?\s+\[", " [", text.removesuffix("[required]")).rstrip(" .")
    return f"{given.partition(' <')[0]} ({text[:1].lower() if text[1:2].islower() else text[:1]}{text[1:]})"


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
