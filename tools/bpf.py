"""Compile the queue disciplines in BPF (bpf/NAME.bpf.c) to the objects that the package has, in crates/bpf/objects.

The same compiler gives the same bytes: objects are kept, and `--check` compares them with what the sources give; exit
code 2 where that compiler is not. Any clang from 15 on, or ziglang's (`CLANG="python -m ziglang cc"`), gives objects
that work, but other bytes (`--out DIR`).
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "bpf"
OBJECTS = ROOT / "crates" / "bpf" / "objects"
CLANG = "clang-19"
KEPT_BY = "19.1.7"
"""The version of clang that the kept objects are from: Debian 12's clang-19, and Debian 13's."""


def compiler() -> str:
    """The command that compiles."""
    return os.environ.get("CLANG", CLANG)


def names() -> list[str]:
    """The disciplines that there is a program for."""
    return sorted(path.name.removesuffix(".bpf.c") for path in SOURCES.glob("*.bpf.c"))


def version(clang: str) -> str | None:
    """The version of this compiler, None if it is not here."""
    words = shlex.split(clang)
    if shutil.which(words[0]) is None:
        return None
    said = subprocess.run([*words, "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"version (\d+\.\d+\.\d+)", said)
    return found[1] if found else said


DROPPED = re.compile(r"(\.rel)?\.(debug_|eh_frame)|\.rel\.BTF|\.llvm_addrsig")
HEADER, SECTION, SYMBOL, RELOCATION = "<16sHHIQQQIHHHHHH", "<IIQQQQIIQQ", "<IBBHQQ", "<QQ"
SYMTAB, NOBITS, REL = 2, 8, 9


def sections(whole: bytes) -> list[tuple[str, int, int]]:
    """Of each section of an object its name, where it begins, and how long it is."""
    header = struct.unpack_from(HEADER, whole)
    found = [struct.unpack_from(SECTION, whole, header[6] + 64 * at) for at in range(header[12])]
    strings = found[header[13]][4]
    end = [whole.index(b"\0", strings + each[0]) for each in found]
    return [(whole[strings + each[0] : stop].decode(), each[4], each[5]) for each, stop in zip(found, end, strict=True)]


def stripped(whole: bytes) -> bytes:
    """The object without the debugger's sections. The verifier's (.BTF, .BTF.ext), which come with -g alone, stay."""
    header = list(struct.unpack_from(HEADER, whole))
    headers = [list(struct.unpack_from(SECTION, whole, header[6] + 64 * at)) for at in range(header[12])]
    kept = [at for at, (name, *_) in enumerate(sections(whole)) if not DROPPED.match(name)]
    moved = {old: new for new, old in enumerate(kept)}
    contents = {at: b"" if headers[at][1] in (0, NOBITS) else whole[headers[at][4] :][: headers[at][5]] for at in kept}
    (symtab,) = (at for at in kept if headers[at][1] == SYMTAB)
    symbols = [list(each) for each in struct.iter_unpack(SYMBOL, contents[symtab])]
    staying = [at for at, symbol in enumerate(symbols) if symbol[3] in moved or symbol[3] >= 0xFF00]
    renumbered = {old: new for new, old in enumerate(staying)}
    local = sum(symbols[at][1] >> 4 == 0 for at in staying)
    contents[symtab] = b"".join(
        struct.pack(SYMBOL, *symbols[at][:3], moved.get(symbols[at][3], symbols[at][3]), *symbols[at][4:])
        for at in staying
    )
    made = bytearray(64)
    for at in kept:
        section = headers[at]
        if section[1] == REL:
            entries = struct.iter_unpack(RELOCATION, contents[at])
            contents[at] = b"".join(
                struct.pack(RELOCATION, where, renumbered[what >> 32] << 32 | what & 0xFFFFFFFF)
                for where, what in entries
            )
        made += b"\0" * (-len(made) % max(section[8], 1))
        section[4] = len(made) if at else 0
        section[5] = section[5] if section[1] == NOBITS else len(contents[at])
        section[6] = moved.get(section[6], 0)
        section[7] = local if at == symtab else moved.get(section[7], 0) if section[1] == REL else section[7]
        made += contents[at]
    made += b"\0" * (-len(made) % 8)
    header[6], header[12], header[13] = len(made), len(kept), moved[header[13]]
    made[:64] = struct.pack(HEADER, *header)
    return bytes(made) + b"".join(struct.pack(SECTION, *headers[at]) for at in kept)


def compiled(name: str, clang: str, *more: str) -> bytes:
    """The object of a discipline; `more` are further options."""
    words, target = shlex.split(clang), ["-target", "bpfel-freestanding" if "zig" in clang else "bpf", "-mcpu=v3"]
    # The same bytes from every folder.
    options = ["-g", "-O2", f"-ffile-prefix-map={SOURCES}=bpf", "-Wall", "-Werror", "-Wno-unused-function", *more]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.o"
        run = [*words, *target, *options, "-c", f"{name}.bpf.c", "-o", str(out)]
        subprocess.run(run, cwd=SOURCES, check=True)
        return stripped(out.read_bytes())


def main() -> int:
    """Write the objects, or say which differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 if an object differs")
    parser.add_argument("--out", type=Path, default=OBJECTS, help="where objects go")
    given = parser.parse_args()
    clang = compiler()
    found = version(clang)
    if found is None or (given.out == OBJECTS and found != KEPT_BY):
        print(
            f"the objects are made by clang {KEPT_BY}, here is {found or 'none'}: apt-get install {CLANG}",
            file=sys.stderr,
        )
        return 2
    given.out.mkdir(parents=True, exist_ok=True)
    stale = []
    for name in names():
        path, made = given.out / f"{name}.o", compiled(name, clang)
        if path.exists() and path.read_bytes() == made:
            continue
        stale.append(name)
        if not given.check:
            path.write_bytes(made)
    if given.check and stale:
        print(f"stale: {', '.join(stale)}; run `make bpf` and commit what it wrote")
    return int(given.check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
