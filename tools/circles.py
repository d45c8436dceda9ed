"""Check that no files of a Rust crate use each other in a circle: `python tools/circles.py [CRATES]`.

Every path outside tests counts that begins with `crate`, `self`, `super` or a module below. A name that a file only
hands on (`pub use`) leads to the file that declares it. A file may use the files whose modules it lies in: that is what
nesting is for. cargo-modules refuses circles of modules too, but compiles rust-analyzer first and names no lines.
"""

import re
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

Module = tuple[str, ...]

COMMENT = re.compile(r"//.*")
TESTS = re.compile(r"^#\[cfg\(test\)\]\n(?:#\[.*\]\n)*mod \w+(?:;| \{.*?^\})", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"^mod \w+ \{.*?^\}", re.MULTILINE | re.DOTALL)
USE = re.compile(r"^ *(pub(?:\(\w+\))? )?use ([^;]+);", re.MULTILINE)
PATH = re.compile(r"(?<![\w$:])[a-z]\w*(?:::\w+)+")


def leaves(tree: str) -> Iterator[str]:
    """The paths of a `use`: of `a::{b, c::{self, D}}` these are `a::b`, `a::c` and `a::c::D`."""
    head, group, inside = tree.strip().removesuffix("}").partition("{")
    if not group:
        yield head.removesuffix("::self")
        return
    for part in re.findall(r"(?:[^,{}]|\{(?:[^{}]|\{[^{}]*\})*\})+", inside):
        if part.strip():
            yield from leaves(head + part.strip())


class Crate:
    """The files of a crate by their modules: what each uses, with its lines, and the names that it hands on."""

    def __init__(self, source: Path) -> None:
        self.files: dict[Module, Path] = {}
        for file in source.rglob("*.rs"):
            *folder, name = file.relative_to(source).with_suffix("").parts
            if name != "tests":
                self.files[tuple(folder if name in ("lib", "mod") else [*folder, name])] = file
        self.paths: dict[Module, list[tuple[Module, bool, int]]] = {}
        self.handed_on: dict[Module, dict[str, Module]] = {}
        for module in sorted(self.files):
            self.read(module)

    def read(self, module: Module) -> None:
        def blank(found: re.Match[str]) -> str:
            return "\n" * found.group().count("\n")

        text = self.files[module].read_text("utf-8")
        for left_out in (COMMENT, TESTS, INLINE):
            text = left_out.sub(blank, text)
        self.paths[module], self.handed_on[module] = [], {}
        found = [(leaf, use[1], use.start(2)) for use in USE.finditer(text) for leaf in leaves(use[2])]
        found += [(path[0], None, path.start()) for path in PATH.finditer(USE.sub(blank, text))]
        for path, public, start in found:
            path, _, alias = path.partition(" as ")
            named = self.absolute(module, path)
            if named is not None:
                self.paths[module].append((named, bool(public), text.count("\n", 0, start) + 1))
                if public:
                    self.handed_on[module][alias or named[-1]] = named

    def absolute(self, module: Module, path: str) -> Module | None:
        """A path in `module` from the crate's root on; none if it leads elsewhere."""
        first, *names = path.split("::")
        if first not in ("crate", "self", "super"):
            return (*module, first, *names) if (*module, first) in self.files else None
        at = module if first == "self" else module[:-1] if first == "super" else ()
        while names and names[0] == "super":
            at, names = at[:-1], names[1:]
        return (*at, *names)

    def declares(self, named: Module) -> Module:
        """The module whose file declares it."""
        module = named
        while module not in self.files:
            module = module[:-1]
        rest = named[len(module) :]
        onward = self.handed_on[module].get(rest[0]) if rest else None
        return self.declares((*onward, *rest[1:])) if onward else module

    def circles(self) -> Iterator[str]:
        """One circle after another, by the lines that make it; the last of them is then left out."""
        uses: dict[Module, dict[Module, int]] = {}
        for user, paths in self.paths.items():
            uses[user] = {}
            for named, public, line in paths:
                used = self.declares(named)
                if used != user[: len(used)] and not (public and used[: len(user)] == user):
                    uses[user].setdefault(used, line)
        while True:
            try:
                TopologicalSorter(uses).prepare()
                return
            except CycleError as error:
                circle = list(zip(error.args[1][1:], error.args[1], strict=False))
            yield "\n".join(f"{self.files[user]}:{uses[user][used]}: uses {self.files[used]}" for user, used in circle)
            user, used = circle[-1]
            del uses[user][used]


def main(folder: str = "crates") -> int:
    sources = sorted(Path(folder).glob("*/src"))
    if not sources:
        sys.exit(f"{folder}: no crate is in it")
    circles = [circle for source in sources for circle in Crate(source).circles()]
    for circle in circles:
        print(f"files that use each other in a circle:\n{circle}\n")
    return 1 if circles else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
