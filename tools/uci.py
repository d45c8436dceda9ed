"""OpenWrt's uci, from its C sources in the crate libuci-sys: the program with which tests read /etc/config/sqm.

python3 tools/uci.py      # writes target/uci; needs cargo, gcc and crates.io
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path

TARGET = Path(__file__).parents[1] / "target"
CRATE = "libuci-sys"
SOURCES = {
    "uci": ("cli", "libuci", "blob", "delta", "file", "parse", "util"),
    "libubox": ("avl", "avl-cmp", "blob", "blobmsg", "md5", "utils", "vlist"),
}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "lib.rs").touch()
        package = (
            f'[package]\nname = "uci"\nversion = "0.0.0"\n[lib]\npath = "lib.rs"\n[dependencies]\n{CRATE} = "=1.0.5"\n'
        )
        (place / "Cargo.toml").write_text(package)
        asked = ["cargo", "metadata", "--format-version", "1", "--manifest-path", place / "Cargo.toml"]
        packages = json.loads(subprocess.run(asked, check=True, capture_output=True).stdout)["packages"]
        crate = Path(next(each["manifest_path"] for each in packages if each["name"] == CRATE)).parent
        (place / "uci_config.h").touch()  # what cmake would write: no option is set
        files = [crate / folder / f"{name}.c" for folder, names in SOURCES.items() for name in names]
        TARGET.mkdir(exist_ok=True)
        flags = ["-O1", "-w", "-D_GNU_SOURCE", f"-I{crate}", f"-I{crate / 'uci'}", f"-I{place}"]
        subprocess.run(["gcc", *flags, *files, "-o", TARGET / "uci"], check=True)
    print(TARGET / "uci")


if __name__ == "__main__":
    main()
