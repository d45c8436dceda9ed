"""Build a wheel for this platform, for any Python from 3.11 on, in out/wheel, and print where it is.

It has the page if `make web` has built it; that is said.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "out" / "wheel"
PAGE = ROOT / "python" / "sluicegate" / "web" / "sluicegate.html"


def build(out: Path) -> Path:
    """The wheel, in an empty folder. Ends the program when it cannot be built."""
    shutil.rmtree(out, ignore_errors=True)
    maturin = Path(sys.executable).with_name("maturin")
    environment = {"CARGO_TARGET_DIR": str(ROOT / "target"), "PYO3_PYTHON": sys.executable} | os.environ
    command = [str(maturin), "build", "--locked", "--interpreter", sys.executable, "--out", str(out)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    (wheel,) = out.glob("*.whl")
    return wheel


def main() -> None:
    """Build it and say what it is."""
    wheel = build(OUT)
    has = "with the page" if PAGE.exists() else "without the page, which `make web` builds first"
    print(f"Wheel: {wheel} ({wheel.stat().st_size / 1e6:.1f} MB, {has})")


if __name__ == "__main__":
    main()
