"""Write the reference pages of the Python package and of the command line, from the package itself.

- docs/reference/python.md: every name of `sluicegate.__all__`, from signatures and docstrings. Classes that the core
  implements are read from _core.pyi, which has their types.
- docs/reference/command-line.md: every command, from what `--help` is made of.

The package must be installed (`make setup`). `--check` writes nothing; it names every stale file and exits 1.
"""

import __future__

import argparse
import ast
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import MISSING, dataclass, field, fields
from itertools import pairwise, takewhile
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import typer

import sluicegate as sg
from generate import ROOT, templates, write
from sluicegate.cli import app
from sluicegate.declared import Declared
from sluicegate.results.result_object import ResultObject
from sluicegate.theory import choke, red

GROUPS = {
    "Networks and scenarios": ("topology", "Topology", "access_line", "check"),
    "Simulating": ("simulate", "run", "Run", "Simulation"),
    "Comparing": ("compare", "Comparison", "recommend", "Recommendation", "sweep", "Sweep"),
    "Evaluating": ("evaluate", "Evaluation", "envelope", "Envelopes"),
    "Captures and recorded traffic": (
        *("read_capture", "Capture", "CaptureReader", "replay", "Replay", "learn", "Learnt", "vectors", "Vectors"),
    ),
    "Real packets": ("shell", "bridge", "testbed"),
    "Choosing parameters": (
        *("design_red", "RedDesign", "design_pi", "PiDesign", "design_afd", "design_dcn", "FairShareDesign"),
    ),
    "Writing a discipline": ("Aqm", "Packet", "Header", "Ctx", "PacketQueue"),
    "Writing the ends of a flow": ("Endpoint", "Datagram"),
    "Errors and warnings": (
        *("ScenarioError", "ConservationError", "ScenarioWarning", "TrapWarning", "RealHostsWarning"),
        "InterfaceWarning",
    ),
}
"""The names of the page by what they are for; those of declared classes, and `theory`, have tables of their own."""

ELSEWHERE = {"theory", "__version__"}

# --- text --------------------------------------------------------------------------------------


def escape(text: str) -> str:
    """Plain text as Markdown: what stands in backquotes stays, signs that Markdown would take for its own do not."""
    parts = re.split(r"(``.+?``|`[^`]+`)", " ".join(text.split()))
    return "".join(part if number % 2 else re.sub(r"([*<$\\])", r"\\\1", part) for number, part in enumerate(parts))


def named(text: str, names: set[str]) -> list[str]:
    """A paragraph of a docstring, cut before each "`name`: …" of a sentence's beginning that explains these names."""
    begins = [0]
    for found in re.finditer(r"(?:^|(?<=[.;)]) )(`\w+`(?:(?:,| and|, and) `\w+`)*): ", text):
        if set(re.findall(r"`(\w+)`", found[1])) <= names:
            begins.append(found.start(1))
    return [text[begin:end].strip() for begin, end in zip(begins, [*begins[1:], len(text)], strict=True)]


@dataclass
class Doc:
    """A docstring taken apart: Markdown, what it says of attributes or parameters, and its example."""

    text: str = ""
    attributes: list[tuple[str, str]] = field(default_factory=list)
    example: str = ""


def read(docstring: str | None, parameters: set[str] | None = None) -> Doc:
    """Take a docstring apart; the parameters that it explains in its paragraphs become a list."""
    doc = Doc()
    parts: list[str] = []
    for block in re.split(r"\n\s*\n", inspect.cleandoc(docstring or "")):
        if block.startswith(">>>") or (doc.example and not block.startswith("Attributes:")):
            doc.example += block + "\n\n"
        elif block.startswith("Attributes:"):
            entries = re.split(r"\n {4}(?=\w+: )", "\n" + block.partition("\n")[2])
            doc.attributes += [(name, escape(text)) for name, _, text in (e.partition(": ") for e in entries if e)]
        else:
            before, *explained = named(" ".join(block.split()), parameters or set())
            parts += [escape(before)] if before else []
            parts += ["\n".join(f"- {escape(each)}" for each in explained)] if explained else []
    doc.text = "\n\n".join(parts)
    doc.example = doc.example.strip()
    return doc


# --- Python ------------------------------------------------------------------------------------


def value(default: object) -> str:
    return "…" if isinstance(default, FunctionType) else repr(default)


def signature(called: Callable[..., object], name: str, result: bool = True) -> str:
    """How something is called, on one line if that is short."""
    found = inspect.signature(called)
    words: list[str] = []
    kind = inspect.Parameter.POSITIONAL_ONLY
    for parameter in found.parameters.values():
        if parameter.name == "self":
            continue
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and kind < inspect.Parameter.VAR_POSITIONAL:
            words.append("*")
        kind = parameter.kind
        text = ("*" if kind is inspect.Parameter.VAR_POSITIONAL else "") + parameter.name
        if parameter.annotation is not inspect.Parameter.empty:
            text += f": {written(parameter.annotation)}"
        if parameter.default is not inspect.Parameter.empty:
            text += f" = {value(parameter.default)}" if ": " in text else f"={value(parameter.default)}"
        words.append(text)
    back = found.return_annotation
    arrow = f" -> {written(back)}" if result and back is not inspect.Signature.empty else ""
    line = f"{name}({', '.join(words)}){arrow}"
    return line if len(line) <= 100 else f"{name}(\n" + "".join(f"    {word},\n" for word in words) + f"){arrow}"


def written(annotation: object) -> str:
    """A type as the source has it, without the names of modules."""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return re.sub(r"\b(?:scenario|real_hosts)\.(?=[A-Z])", "", text)


def core() -> dict[str, Any]:
    """What _core.pyi declares."""
    stub = Path(sg.__file__).with_name("_core.pyi")
    names: dict[str, Any] = {"__package__": "sluicegate", "__name__": "sluicegate._core"}
    code = compile(stub.read_text("utf-8"), stub, "exec", __future__.annotations.compiler_flag, dont_inherit=True)
    exec(code, names)
    return names


CORE = core()


def parents(thing: type) -> Iterator[type]:
    """The class, and those that it inherits public methods from without their having a place on the page."""
    return takewhile(lambda each: each not in (ResultObject, *Exception.__mro__, Warning, UserWarning), thing.__mro__)


def members(thing: type, attributes: set[str]) -> list[dict[str, str]]:
    """Public properties, then methods; each with its signature and docstring."""
    found: dict[str, Any] = {}
    for each in parents(thing):
        for name, member in vars(each).items():
            if not name.startswith("_") and name not in attributes:
                found.setdefault(name, member)
    rows = []
    for name, member in found.items():
        if isinstance(member, property):
            rows.append({"name": name, "call": name, "doc": read(member.__doc__).text})
        elif isinstance(member, classmethod):
            rows.append(method(f"{thing.__name__}.{name}", member.__get__(None, thing)))
        elif isinstance(member, FunctionType):
            rows.append(method(name, member))
    return sorted(rows, key=lambda row: row["call"].endswith(")") or "(" in row["call"])


def method(name: str, called: Callable[..., object]) -> dict[str, str]:
    call = " ".join(signature(called, name).split()).replace("( ", "(").replace(", )", ")")
    return {"name": name, "call": call, "doc": read(called.__doc__).text}


def entry(name: str) -> dict[str, Any]:
    """What the page says of a function or class."""
    thing = CORE[name] if name in sg._HOMES["_core"] else getattr(sg, name)
    if not inspect.isclass(thing):
        if thing.__name__ != name:
            doc = Doc(f"Another name of [`{thing.__name__}`](#{thing.__name__}).", example=read(thing.__doc__).example)
            return {"name": name, "signature": f"{name} = {thing.__name__}", "doc": doc, "members": [], "result": False}
        doc = read(thing.__doc__, set(inspect.signature(thing).parameters))
        return {"name": name, "signature": signature(thing, name), "doc": doc, "members": [], "result": False}
    doc = read(thing.__doc__)
    for each in list(parents(thing))[1:]:
        doc.attributes += [pair for pair in read(each.__doc__).attributes if pair[0] not in dict(doc.attributes)]
    error = issubclass(thing, Exception)
    # A class is shown with a signature where users make objects of it, which its docstring's example then does.
    makes = not error and re.search(rf"sg\.{name}\(", doc.example)
    return {
        "name": name,
        "signature": signature(thing, name, result=False)
        if makes
        else f"class {name}{f'({thing.__base__.__name__})' if error else ''}",
        "result": issubclass(thing, ResultObject),
        "members": [] if error else members(thing, {name for name, _ in doc.attributes}),
        "doc": doc,
    }


# --- declared classes --------------------------------------------------------------------------

EXAMPLES = {
    "Class": 'sg.Class(queue=sg.Codel(), quantum="1500 B")',
    "Connections": 'sg.Connections(vectors="link.cvec")',
    "Drr": "sg.Drr(classes=[sg.Codel(), sg.Red()])",
    "Dumbbell": 'sg.Dumbbell(rate="10 Mbit/s", delay="20 ms", queue=sg.Codel())',
    "dumbbell": 'sg.dumbbell(rate="10 Mbit/s", delay="20 ms", queue=sg.Codel())',
    "Endpoints": 'sg.Endpoints(ends="probe.py:probes")',
    "Link": 'sg.Link(name="uplink", from_="home", to="network", rate="10 Mbit/s")',
    "Priority": "sg.Priority(classes=[sg.DropTail(), sg.Codel()])",
    "Reverse": 'sg.Reverse(rate="2 Mbit/s")',
    "Shaper": 'sg.Shaper(rate="9 Mbit/s")',
}
"""Examples of classes that a value of their own says nothing of; the others follow from the declarations."""
REQUIRED = {"rate": "1 Mbit/s"}


def example(name: str) -> str:
    """How an object of a declared class is made: what is required, and two keys at most, of numbers or quantities."""
    if name in EXAMPLES:
        return EXAMPLES[name]
    given: dict[str, object] = {}
    thing = getattr(sg, name)
    for each in sorted(fields(thing), key=lambda each: each.name not in thing.__annotations__):  # its own come first
        if each.default is MISSING:
            given[each.name] = REQUIRED[each.name]
        elif len(given) < 2 and each.kw_only and re.match(r"\d.{,9}$", str(each.default)) and each.name != "mark_th":
            given[each.name] = each.default
    return f"sg.{name}({', '.join(f'{key}={value!r}' for key, value in given.items())})".replace("'", '"')


def declared(name: str) -> dict[str, str]:
    """A row of the table of declared classes."""
    thing = getattr(sg, name)
    page, anchor = {
        "queue": ("disciplines", getattr(thing, "name", "")),
        "flows": ("sources", getattr(thing, "kind", "")),
        "class": ("disciplines", "classes"),
        "network": ("network", "network-a-dumbbell"),
        "reverse": ("network", "network-reverse"),
        "shaper": ("network", "network-shaper-network-reverse-shaper"),
        "link": ("network", "network-links"),
    }[thing.ROLE]
    title = inspect.cleandoc(thing.__doc__).partition("\n")[0].rstrip(".")
    return {"name": name, "page": page, "anchor": anchor, "title": title, "example": example(name)}


SENTENCE = r"(?<=\w[.])(?<!\b(?:Sec|Fig)\.)(?<!\b[Ee]q\.)(?<!\b(?:Secs|Figs)\.)(?<!\b[Ee]qs\.)\s"
"""Between two sentences, and not behind an abbreviation."""


def alias(package: ModuleType, name: str) -> str:
    """The text below a type alias, in the module of the package that defines it: Python does not keep it."""
    for module in [it for path, it in sys.modules.items() if path.startswith(f"{package.__name__}.")]:
        for statement, below in pairwise(ast.parse(inspect.getsource(module)).body):
            match statement, below:
                case ast.AnnAssign(ast.Name(found)), ast.Expr(ast.Constant(str(text))) if found == name:
                    return text
    raise ValueError(f"tools/reference.py: {package.__name__}.{name}: no text below it")


def summary(module: ModuleType, names: list[str]) -> list[tuple[str, str]]:
    """Public names of a module, each with the first sentence of its docstring."""
    rows = []
    for name in names:
        thing = getattr(module, name)
        text = inspect.cleandoc(thing.__doc__ or alias(module, name)) if callable(thing) else ""
        first = re.split(SENTENCE, " ".join(text.partition("\n\n")[0].split()), maxsplit=1)[0]
        call = signature(thing, name, result=False) if inspect.isfunction(thing) else name
        rows.append((" ".join(call.split()), first))
    return rows


def python_page() -> dict[str, Any]:
    classes = [name for name in sg.__all__ if inspect.isclass(it := getattr(sg, name)) and issubclass(it, Declared)]
    grouped = {name for names in GROUPS.values() for name in names}
    if missing := set(sg.__all__) - grouped - set(classes) - ELSEWHERE:
        raise ValueError(f"tools/reference.py: GROUPS: which are these for: {', '.join(sorted(missing))}?")
    return {
        "groups": {title: [entry(name) for name in names] for title, names in GROUPS.items()},
        "common": members_of_all(),
        "declared": [declared(name) for name in classes],
        "theory": {
            "theory.choke": summary(choke, [name for name in choke.__all__ if callable(getattr(choke, name))]),
            "theory.red": summary(
                red, [name for name, it in vars(red).items() if inspect.isfunction(it) and it.__module__ == red.__name__
                      and not name.startswith("_")],
            ),
        },
    }  # fmt: skip


def members_of_all() -> list[dict[str, str]]:
    """What every result can do."""
    rows = [
        method(name, it) for name, it in vars(ResultObject).items() if isinstance(it, FunctionType) and name[0] != "_"
    ]
    return [{"name": "tables", "call": "tables", "doc": read(ResultObject.tables.__doc__).text}, *rows]


# --- the command line --------------------------------------------------------------------------


def commands(command: Any, path: str, parent: Any = None) -> Iterator[dict[str, Any]]:
    """A command and those below it, in the order of `--help`."""
    context = command.context_class(command, info_name=path.rpartition(" ")[2], parent=parent)
    rows = [option(each, context) for each in command.get_params(context) if each.name != "help"]
    yield {
        "path": path,
        "usage": " ".join([path, *command.collect_usage_pieces(context)]),
        "short": command.short_help or "",
        "help": coded(read(command.help).text, escaped=True),
        "arguments": [row for row in rows if row["argument"]],
        "options": [row for row in rows if not row["argument"]],
        "examples": re.sub(r"^Examples:\s*|\x08\n", "", inspect.cleandoc(command.epilog or "")).strip(),
        "below": list(getattr(command, "commands", ())),
    }
    for name, below in getattr(command, "commands", {}).items():
        yield from commands(below, f"{path} {name}", context)


def coded(text: str, escaped: bool = False) -> str:
    """A help text as Markdown, the names of options in it as code."""
    parts = re.split(r"(`[^`]+`)", text if escaped else escape(text))
    parts[::2] = [re.sub(r"(?<![\w-])(--?[a-z][\w-]*)", r"`\1`", part) for part in parts[::2]]
    return "".join(parts)


def option(parameter: Any, context: Any) -> dict[str, Any]:
    """A row of the table: what is typed, the default, the meaning. `--help` has the default in brackets at the end."""
    typed, text = parameter.get_help_record(context)
    argument = parameter.param_type_name == "argument"
    meaning, default = re.fullmatch(r"(.*?)((?:\s*\[[^\[\]]*\])*)", text, re.DOTALL).groups()  # type: ignore[union-attr]
    stated = [word.removeprefix("default: ") for part in re.findall(r"\[(.*?)\]", default) for word in part.split("; ")]
    ranges = [word for word in stated if re.search(r"\bx\b.*[<>]|[<>].*\bx\b", word)]
    return {
        "argument": argument,
        "typed": re.sub(r" <[^>]*>$", "", typed) if argument else typed,
        "default": "; ".join(word for word in stated if word not in ranges),
        "meaning": coded(meaning) + "".join(f" `{word}`" for word in ranges),
    }


def render() -> dict[str, str]:
    environment = templates()
    environment.filters["escape"] = escape
    python = environment.get_template("python.md.j2").render(python_page())
    program = typer.main.get_command(app)
    lines = environment.get_template("command-line.md.j2").render(commands=list(commands(program, "sluicegate")))
    return {"docs/reference/python.md": python, "docs/reference/command-line.md": lines}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing, fail if stale")
    parser.add_argument("--root", type=Path, default=ROOT, help="the folder to write to or check")
    options = parser.parse_args()
    return write(render(), options.root, options.check)


if __name__ == "__main__":
    sys.exit(main())
