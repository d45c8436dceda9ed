"""Build a wheel for this platform, for any Python from 3.11 on, in out/wheel, and print where it is.

It has the page if `make web` has built it, and profile-guided optimisation (tools/bench/train.py) if the compiler's
llvm-profdata is there, with the same results to the last bit; both are said.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from sluicegate.declarations import commit

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "out" / "wheel"
PAGE = ROOT / "python" / "sluicegate" / "web" / "sluicegate.html"


def can_be_guided() -> bool:
    """Whether llvm-profdata of the compiler's version is there: that of another LLVM may not read its profiles."""
    told = [
        subprocess.run(["rustc", *ask], stdout=subprocess.PIPE, text=True, check=True).stdout
        for ask in (["--print", "sysroot"], ["-vV"])
    ]
    host = next(line.removeprefix("host: ") for line in told[1].splitlines() if line.startswith("host: "))
    return any(Path(told[0].strip(), "lib/rustlib", host, "bin").glob("llvm-profdata*"))


def build(out: Path, guided: bool = False) -> Path:
    """The wheel, in an empty folder. Ends the program when it cannot be built.

    `guided`: by a profile of what tools/bench/train.py runs; it takes two builds more.
    """
    shutil.rmtree(out, ignore_errors=True)
    maturin = Path(sys.executable).with_name("maturin")
    environment = {"CARGO_TARGET_DIR": str(ROOT / "target"), "PYO3_PYTHON": sys.executable} | os.environ
    environment["SLUICEGATE_COMMIT"] = commit()  # what `sluicegate --version` of the wheel says; the tree asks git
    command = [str(maturin), "build", "--locked", "--interpreter", sys.executable, "--out", str(out)]
    if guided:
        command.append("--pgo")
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    (wheel,) = out.glob("*.whl")
    return wheel


def main() -> None:
    """Build it and say what it is."""
    guided = can_be_guided()
    wheel = build(OUT, guided)
    speed = "with" if guided else "without (rustup component add llvm-tools)"
    has = "with the page" if PAGE.exists() else "without the page, which `make web` builds first"
    print(f"Wheel: {wheel} ({wheel.stat().st_size / 1e6:.1f} MB, {has}; {speed} profile-guided optimisation)")


if __name__ == "__main__":
    main()
