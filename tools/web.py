"""Build the page: the core for browsers, what the page needs of the theory, the page as a folder and as one file.

Needs Node.js and Rust's target wasm32-unknown-unknown, which rustup fetches; without rustup Debian's rustc-web,
cargo-web, rust-web-src and lld give it. Writes out/web, where sluicegate.html is the single file.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WEB = ROOT / "web"
CORE = WEB / "core"
OUT = ROOT / "out" / "web"
SERVED = ROOT / "python" / "sluicegate" / "web" / "sluicegate.html"
"""Where `sluicegate live` finds it, and wheels take it from."""

TARGET = "wasm32-unknown-unknown"
NODE = 20
MOST_BYTES = 3_000_000
"""What the single file may have: it is mailed and handed out."""

MANY = (1, 2, 4, 8)
"""Numbers of candidates that the theory's curves are drawn for."""

DEBIAN = ("rustc-web", "cargo-web", "rust-web-src", "lld")


def run(*command: str, cwd: Path = ROOT, **more: str) -> None:
    """Run a command, which is quiet unless it fails; what it says then is shown, and the program ends."""
    done = subprocess.run(command, cwd=cwd, env=os.environ | more, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    if done.stderr and "warning:" in done.stderr and "npm warn" not in done.stderr:
        print(done.stderr, file=sys.stderr)


def missing(what: str, fix: str) -> None:
    """End the program: the page cannot be built here."""
    sys.exit(f"missing: {what}, for the page alone\n   fix: {fix}\nEverything else works without the page.")


def node() -> None:
    """Check that there is Node.js, new enough."""
    if not shutil.which("node") or not shutil.which("npm"):
        missing(f"Node.js {NODE} or newer with npm", "install it (https://nodejs.org)")
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout
    if int(version.strip().lstrip("v").split(".")[0]) < NODE:
        missing(f"Node.js {NODE} or newer (found {version.strip()})", "install a newer one (https://nodejs.org)")


def cargo() -> tuple[list[str], dict[str, str]]:
    """The command that builds for the target, and its environment: the compiler's own target, or Debian's."""
    ours = ["cargo", "build", "--profile", "web", "--locked", "--target", TARGET, "--package", "sluicegate-web"]
    sysroot = subprocess.run(["rustc", "--print", "sysroot"], capture_output=True, text=True, check=True).stdout.strip()
    there = Path(sysroot) / "lib" / "rustlib" / TARGET / "lib"
    if there.is_dir():
        return ours, {}
    if shutil.which("rustup"):
        done = subprocess.run(["rustup", "target", "add", TARGET], capture_output=True, text=True, check=False)
        if done.returncode == 0 and there.is_dir():
            return ours, {}
    if Path("/usr/bin/cargo").exists() and list(Path("/usr/src").glob("rustc-*")):
        # Debian's compiler comes with the standard library's sources, and builds it with the program.
        more = ["-Zbuild-std=std,panic_abort"]
        linker = {f"CARGO_TARGET_{TARGET.upper().replace('-', '_')}_LINKER": "wasm-ld"}
        return ["/usr/bin/cargo", *ours[1:], *more], {"RUSTC_BOOTSTRAP": "1", "RUSTC": "/usr/bin/rustc"} | linker
    fix = f"rustup target add {TARGET}, or on Debian: sudo apt-get install {' '.join(DEBIAN)}"
    return missing(f"Rust's target {TARGET}", fix) or ([], {})


def core() -> None:
    """The module, compressed, and its JavaScript, in web/core."""
    command, environment = cargo()
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    run(*command, **environment)
    tool = target / "bindgen"
    run("cargo", "build", "--release", "--locked", cwd=ROOT / "tools" / "bindgen", CARGO_TARGET_DIR=str(tool))
    CORE.mkdir(exist_ok=True)
    run(str(tool / "release" / "bindgen"), str(target / TARGET / "web" / "sluicegate_web.wasm"), str(CORE))
    module = CORE / "sluicegate_web_bg.wasm"
    module.with_suffix(".wasm.gz").write_bytes(gzip.compress(module.read_bytes(), 9, mtime=0))


def theory() -> None:
    """UDP's part of the throughput by the theory of CHOKe, for the tour: the network of the scenario `choke2004`."""
    from sluicegate.theory.choke_curve import theory_choke

    rate_bps = 1_000_000
    curves = {}
    for candidates in MANY:
        done = theory_choke(
            tcp=32, udp="0.1..10 Mbit/s", rate="1 Mbit/s", rtt="100 ms", min_th=20, max_th=520, max_p=0.5,
            candidates=candidates, uniform=True, points=41,
        )  # fmt: skip
        curves[candidates] = done.rows()
    loads = [row["udp_load"] for row in curves[1]]
    shares = {str(many): [row["udp_share"] for row in rows] for many, rows in curves.items()}
    text = json.dumps({"rate_bps": rate_bps, "load": loads, "share": shares})
    (CORE / "choke-theory.json").write_text(text + "\n", "utf-8")


def main() -> None:
    """Build all of it."""
    node()
    core()
    theory()
    if not (WEB / "node_modules" / ".package-lock.json").exists():
        run("npm", "ci", "--no-audit", "--no-fund", cwd=WEB)
    run("npm", "run", "check", cwd=WEB)
    run("npm", "run", "build", cwd=WEB)
    single = OUT / "sluicegate.html"
    shutil.move(ROOT / "out" / "web-single" / "index.html", single)
    shutil.rmtree(ROOT / "out" / "web-single")
    SERVED.parent.mkdir(exist_ok=True)
    shutil.copy(single, SERVED)
    size = single.stat().st_size
    print(f"Page: {OUT / 'index.html'} (to serve), {single} ({size / 1e6:.2f} MB, opens from disk)")
    if size > MOST_BYTES:
        sys.exit(f"{single} has {size} bytes; it may have {MOST_BYTES}")


if __name__ == "__main__":
    main()
