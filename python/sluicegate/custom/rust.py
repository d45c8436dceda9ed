"""Users' code in Rust: congestion controls and ends of flows, compiled into a program that runs scenarios.

    mine.rs:MyControl      a type with `pub fn new(host: &Host) -> MyControl` and the trait `CongestionControl`
    mine.rs:my_transport   a function without arguments that gives an `EndpointPair`
    quinn:cubic            other people's transports, of `crates/adapters`: see `ADAPTED`

`program` writes a small Cargo project around the files, which depends on the crates of the checkout, and builds it in a
folder of the user's cache. It runs `Own` of `crates/lab`, which reads a scenario from standard input and writes the
results to standard output. The program is built once, and found again by the digests of the files and of the crates.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import selectors
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from ..quantities import did_you_mean

if TYPE_CHECKING:
    from .._core import RawRun

ADAPTED = ("quinn:bbr", "quinn:cubic", "quinn:newreno", "smoltcp:cubic")
"""Ends that `crates/adapters` has."""

CRATES = ("base", "aqm", "port", "tcp", "netsim", "lab")
"""The crates that a program depends on, and that a user's file in it may use."""

SOURCE = "SLUICEGATE_SOURCE"
"""The variable that says where a checkout is, for a package that was installed without one."""

WATCH_S = 0.1
"""Seconds: a waiting caller's `progress` is called at least this often; it can end the run by raising an exception."""

Names = Sequence[tuple[str, str | None]]
"""Names, each with the file of its scenario. Paths are relative to its folder; with None, to the working directory."""


def is_rust(name: str) -> bool:
    """Whether a name stands for something written in Rust, outside the package."""
    return ".rs:" in name or name in ADAPTED


@dataclass(frozen=True)
class Part:
    """What one name stands for: `path` and `source` of its file, None for one of `ADAPTED`."""

    name: str
    path: Path | None = None
    source: bytes = b""

    @property
    def item(self) -> str:
        """The type or function."""
        return self.name.rpartition(":")[2]

    @property
    def digest(self) -> str:
        """Of the file, and of the crates that it is compiled with."""
        return hashlib.sha256(self.source + source()[1].encode()).hexdigest()


@dataclass(frozen=True)
class Program:
    """A program that has been built. `places`: of each name, its place in what the program has. `files`: how its
    messages name files, and the files that these are. `digests`: of each name."""

    path: Path
    places: Mapping[str, int]
    files: Mapping[str, str]
    digests: Mapping[str, str]

    def run(
        self,
        text: str,
        name: str,
        sets: Sequence[tuple[str, str]],
        progress: Callable[[float, float, int], object] | None,
        pcap: Sequence[tuple[str, str]] = (),
    ) -> RawRun:
        """Run a scenario, as `_core.run` does; the program is ended when `progress` raises.

        Raises `ScenarioError` for one that cannot be run, for captures, and when the program panics.
        """
        from .._core import ScenarioError

        if pcap:
            raise ScenarioError("pcap: a run with your own Rust code writes no captures")
        request = json.dumps({"text": text, "name": name, "sets": [*map(list, sets)], "own": dict(self.places)})
        with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as asked:
            asked.write(request.encode())
            asked.seek(0)
            with subprocess.Popen([self.path], stdin=asked, stdout=subprocess.PIPE, stderr=said) as process:
                assert process.stdout is not None
                try:
                    answer, cells = _heard(process.stdout, progress)
                except BaseException:
                    process.kill()
                    raise
            said.seek(0)
            words = said.read()
            if answer is None:
                raise ScenarioError(f"{', '.join(self.places)}: {self._end(process.returncode, words)}")
        sys.stderr.write(words.decode(errors="replace"))  # of a transport that gives up, or a person's own
        if "error" in answer:
            raise ScenarioError(answer["error"])
        tables: dict[str, Any] = {}
        for table, columns in answer["tables"]:
            tables[table] = []
            for column, dtype, length, texts in columns:
                own, cells = bytes(cells[:length]), cells[length:]
                tables[table].append((column, dtype, own if texts is None else (texts, own)))
        return {"summary": json.dumps(answer["summary"]), "tables": tables}

    def _end(self, code: int, said: bytes) -> str:
        """How a program ended that gave no answer, in words."""
        words = said.decode(errors="replace").partition("\nnote: ")[0].strip()
        return f"its program ended with {f'signal {-code}' if code < 0 else f'exit code {code}'}:\n{self.shown(words)}"

    def shown(self, words: str) -> str:
        """Words of the compiler's or the program's with the names of a person's files."""
        return _renamed(words, self.files)


def _heard(
    out: IO[bytes], progress: Callable[[float, float, int], object] | None
) -> tuple[dict[str, Any] | None, memoryview]:
    """The last line of an answer, and what follows it; None where there is none. Tells how far the run is."""
    heard, begin, told, answer = bytearray(), 0, (0.0, 1.0, 0), None
    with selectors.DefaultSelector() as selector:
        selector.register(out, selectors.EVENT_READ)
        while True:
            if selector.select(WATCH_S):
                part = os.read(out.fileno(), 1 << 20)
                if not part:
                    return answer, memoryview(heard)[begin:]
                heard += part
                while answer is None and (end := heard.find(b"\n", begin)) >= 0:
                    line = json.loads(heard[begin:end])
                    begin = end + 1
                    if isinstance(line, dict):
                        answer = line
                    else:
                        told = (line[0], line[1], line[2])
            if progress is not None:
                progress(*told)


# --- building ----------------------------------------------------------------------------------


def program(names: Names) -> Program:
    """The program that has what these names stand for, built if it is not there.

    Raises `ScenarioError` for a file that cannot be read or has not what is named, where there is no source or no
    cargo, and for what does not compile, with the compiler's words.
    """
    from .._core import ScenarioError

    parts = {name: _part(name, file) for name, file in names}
    files = [*dict.fromkeys(part.path for part in parts.values() if part.path is not None)]
    modules = {path: f"own{number}" for number, path in enumerate(files)}
    known = hashlib.sha256()
    for part in parts.values():
        known.update(json.dumps([part.digest, part.item, part.name if part.path is None else ""]).encode())
    called = f"own-{known.hexdigest()[:16]}"
    target = folder() / "target"
    built = target / "release" / called
    shown = {f"src/{module}.rs": str(path) for path, module in modules.items()}
    places = {name: place for place, name in enumerate(parts)}
    digests = {name: part.digest for name, part in parts.items()}
    found = Program(built, places, shown, digests)
    if built.is_file():
        return found
    cargo = shutil.which("cargo")
    if cargo is None:
        least = "1.91" if any(part.path is None for part in parts.values()) else "1.85"
        raise ScenarioError(
            f"must be compiled, but cargo is not installed: install Rust {least} or newer, see https://rustup.rs"
        )
    project = folder() / called
    (project / "src").mkdir(parents=True, exist_ok=True)
    for path, module in modules.items():
        own = next(part.source for part in parts.values() if part.path == path)
        (project / "src" / f"{module}.rs").write_bytes(own)
    adapted = any(part.path is None for part in parts.values())
    (project / "src" / "main.rs").write_text(_main([*parts.values()], modules), "utf-8")
    (project / "Cargo.toml").write_text(_manifest(called, adapted), "utf-8")
    shutil.copyfile(source()[0] / "Cargo.lock", project / "Cargo.lock")
    if not target.exists():
        print(f"compiling {', '.join(parts)}: the first time this takes a minute or two", file=sys.stderr, flush=True)
    manifest = ["--manifest-path", str(project / "Cargo.toml"), "--target-dir", str(target)]
    call = [cargo, "build", "--release", "--quiet", "--color", "never", *manifest]
    done = subprocess.run(call, cwd=project, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, check=False)
    if done.returncode or not built.is_file():
        what = "does not compile" if f"could not compile `{called}`" in done.stderr else "cargo cannot build it"
        raise ScenarioError(f"{what}:\n{found.shown(done.stderr).strip()}")
    return found


def _part(name: str, file: str | None) -> Part:
    """What a name stands for. Raises `ScenarioError`."""
    from .._core import ScenarioError

    if ".rs:" not in name:
        if name not in ADAPTED:
            raise ScenarioError(f"no such transport; there are {', '.join(ADAPTED)}{did_you_mean(name, ADAPTED, '')}")
        return Part(name)
    place, _, item = name.rpartition(":")
    path = Path(file).parent / place if file is not None else Path(place)
    try:
        own = path.read_bytes()
    except OSError as error:
        hint = did_you_mean(path.name, (other.name for other in path.parent.glob("*.rs")), "")
        raise ScenarioError(f"cannot read {path}: {error.strerror}{hint}") from None
    there = re.findall(r"\bpub\s+(?:struct|enum|type|fn)\s+(\w+)", own.decode(errors="replace"))
    if item not in there:
        raise ScenarioError(f"{path} has no public type or function {item}{did_you_mean(item, there, '')}")
    return Part(name, path, own)


def _main(parts: Sequence[Part], modules: Mapping[Path, str]) -> str:
    """The program's main file."""
    lines = [f"#[allow(warnings)]\nmod {module};" for module in modules.values()]
    lines += ["", "fn main() -> std::process::ExitCode {", "    sluicegate_lab::Own::default()"]
    for part in parts:
        if part.path is None:
            lines.append(f'        .ends(sluicegate_adapters::named("{part.name}").expect("one of these"))')
        elif part.item[0].islower():
            lines.append(f"        .ends({modules[part.path]}::{part.item}()) // it has to give an EndpointPair")
        else:
            needs = f"needs `pub fn new(host: &Host) -> {part.item}`, and the trait CongestionControl"
            lines.append(f"        .controller({modules[part.path]}::{part.item}::new) // {needs}")
    return "\n".join([*lines, "        .serve()", "}", ""])


def _manifest(called: str, adapted: bool) -> str:
    """The program's Cargo.toml. Without optimisation across crates, which takes as long again and gains little."""
    where, _ = source()
    crates = [*CRATES, *(("adapters",) if adapted else ())]
    needed = (f"sluicegate-{each} = {{ path = {json.dumps(str(where / 'crates' / each))} }}" for each in crates)
    return "\n".join(
        [
            f'[package]\nname = "{called}"\nversion = "0.0.0"\nedition = "2024"\npublish = false\n\n[workspace]\n',
            "[dependencies]", *needed, "",
        ]
    )  # fmt: skip


def _renamed(words: str, files: Mapping[str, str]) -> str:
    for module, path in files.items():
        words = words.replace(module, path)
    return words


@cache
def source() -> tuple[Path, str]:
    """The folder of the checkout, and the digest of its crates. Raises `ScenarioError` where there is none, or another
    version's."""
    from .._core import ScenarioError, version

    given = os.environ.get(SOURCE)
    where = Path(given) if given else Path(__file__).resolve().parents[3]
    try:
        found = tomllib.loads((where / "Cargo.toml").read_text("utf-8"))["workspace"]["package"]["version"]
        digest = hashlib.sha256((where / "Cargo.lock").read_bytes())
        for path in _sources(where):
            own = path.read_bytes()
            digest.update(f"{path.relative_to(where)} {len(own)} ".encode() + own)
    except (OSError, KeyError, tomllib.TOMLDecodeError):
        raise ScenarioError(
            f"is compiled with Sluicegate's crates, but {where} is no checkout of Sluicegate: set {SOURCE} to one"
        ) from None
    if found != version():
        raise ScenarioError(
            f"{where} has Sluicegate {found}, and this is {version()}: set {SOURCE} to a checkout of {version()}"
        )
    return where.resolve(), digest.hexdigest()


def _sources(where: Path) -> Iterator[Path]:
    for each in (*CRATES, "adapters"):
        crate = where / "crates" / each
        yield crate / "Cargo.toml"
        yield from sorted(path for part in ("src", "traces") for path in (crate / part).rglob("*") if path.is_file())


def folder() -> Path:
    """Where programs are written and built."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sluicegate" / "rust"
