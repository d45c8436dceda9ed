"""An emulated machine with a Linux that takes queue disciplines in BPF, made of Debian's packages.

Kernel and tools come from a later suite than the machine's own, by name, whatever their version is today. QEMU emulates
the processor and counts its instructions (one a nanosecond): the machine's clock does not depend on how loaded this one
is, and measurements of cost are repeatable.
"""

import lzma
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from machine import Failed, Machine, Unavailable, run

SUITE = "sid"
LEAST = (6, 16)
TOOLS = ("bpftool", "iproute2", "busybox-static")
MODULES = ("veth", "dummy", "sch_tbf", "sch_fq_codel", "sch_choke", "sch_htb", "sch_netem", "sch_ingress", "sch_prio")
QEMU = "qemu-system-x86_64"

INIT = """#!/bin/sh
/bin/busybox mkdir -p /applets; /bin/busybox --install -s /applets; export PATH=/bin:/applets
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
mount -t bpf bpf /sys/fs/bpf; mkdir -p /run/netns /tmp
for module in $(cat /modules/order); do insmod /modules/$module || echo "insmod $module failed"; done
ip link set lo up
cd /job; sh -e ./job.sh; echo "job ended: $?"
poweroff -f
"""


class Packages:
    """Debian's packages of the later suite, in a folder of their own beside this machine's."""

    def __init__(self, folder: Path) -> None:
        if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
            raise Unavailable("Debian's apt-get and dpkg-deb are not here")
        self.folder = folder
        for name in ("lists/partial", "cache/archives/partial", "debs"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / "status").touch()
        found = re.search(r"(https?://\S*debian\S*?)/?\s", run("apt-get", "indextargets", "--format", "$(REPO_URI) "))
        if found is None:
            raise Unavailable("apt-get knows no archive of Debian")
        (folder / "sources.list").write_text(f"deb {found[1]} {SUITE} main\n")
        (folder / "apt.conf").write_text(
            f'Dir::Etc::sourcelist "{folder}/sources.list"; Dir::Etc::sourceparts "-"; Dir::Cache "{folder}/cache";'
            f' Dir::State::lists "{folder}/lists"; Dir::State::status "{folder}/status"; APT::Sandbox::User "root";\n'
        )
        self.environment = {**os.environ, "APT_CONFIG": str(folder / "apt.conf")}
        run("apt-get", "update", "--quiet", env=self.environment)

    def kernel(self) -> str:
        """The version of the newest kernel for virtual machines, as packages' names have it."""
        shown = run("apt-cache", "depends", "linux-image-cloud-amd64", env=self.environment)
        found = re.search(r"linux-image-((\d+)\.(\d+)\S*)", shown)
        if found is None or (int(found[2]), int(found[3])) < LEAST:
            raise Unavailable(f"{SUITE} has no linux-image-cloud-amd64 from {LEAST[0]}.{LEAST[1]} on")
        return found[1]

    def needed(self, names: Iterable[str]) -> list[str]:
        """These packages with the libraries that they need."""
        options = [f"--no-{kind}" for kind in ("recommends", "suggests", "conflicts", "breaks", "replaces", "enhances")]
        shown = run("apt-cache", "depends", "--recurse", *options, *names, env=self.environment)
        found = {line for line in shown.splitlines() if re.fullmatch(r"z?lib\S+", line)}
        return [
            *names,
            *sorted(name for name in found if not re.search("gconv|debian-installer|newt|slang|textwrap", name)),
        ]

    def unpack(self, names: Iterable[str], into: Path) -> None:
        """Downloads packages, and unpacks them."""
        debs = self.folder / "debs"
        run("apt-get", "download", "--quiet", *names, cwd=debs, env=self.environment)
        for deb in debs.glob("*.deb"):
            run("dpkg-deb", "-x", deb, into)


def modules(tree: Path) -> list[tuple[str, bytes]]:
    """The kernel's modules that a job needs, in the order in which they are loaded."""
    found = {path.name.removesuffix(".ko.xz").replace("-", "_"): path for path in tree.rglob("*.ko.xz")}
    order: dict[str, bytes] = {}

    def add(name: str) -> None:
        if name in order or name not in found:  # what is not a module is in the kernel
            return
        text = lzma.decompress(found[name].read_bytes())
        needs = re.search(rb"(?:^|\0)depends=([^\0]*)\0", text)
        for need in needs[1].decode().split(",") if needs and needs[1] else []:
            add(need.replace("-", "_"))
        order[name] = text

    for name in MODULES:
        add(name)
    return list(order.items())


def archive(files: Mapping[str, bytes | str]) -> bytes:
    """An archive as the kernel unpacks it at its start (cpio, "newc"); a text is a link."""
    made, folders = bytearray(), set[str]()

    def entry(name: str, mode: int, content: bytes) -> None:
        encoded = name.encode() + b"\0"
        fields = (len(folders) + len(made), mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(encoded), 0)
        for part in (b"070701" + b"".join(b"%08X" % field for field in fields) + encoded, content):
            made.extend(part + b"\0" * (-len(part) % 4))

    for name, content in files.items():
        for end in (at for at, letter in enumerate(name) if letter == "/"):
            if name[:end] not in folders:
                folders.add(name[:end])
                entry(name[:end], 0o40755, b"")
        entry(
            name,
            0o120777 if isinstance(content, str) else 0o100755,
            content.encode() if isinstance(content, str) else content,
        )
    entry("TRAILER!!!", 0, b"")
    return bytes(made) + b"\0" * (-len(made) % 512)


class Emulated(Machine):
    """The machine: `run` boots it with a job's files, and gives what its console showed."""

    clock = "instructions"

    def __init__(self, folder: Path) -> None:
        if not shutil.which(QEMU):
            raise Unavailable(f"{QEMU} is not here: apt-get install qemu-system-x86")
        self.folder, root = folder, folder / "root"
        self.kernel, base = folder / "vmlinuz", folder / "base.cpio"
        if not base.exists():
            packages = Packages(folder)
            version = packages.kernel()
            names = [f"linux-binary-{version}", f"linux-modules-{version}", *packages.needed(TOOLS)]
            packages.unpack(names, root)
            self.kernel.write_bytes(next(root.rglob("vmlinuz*")).read_bytes())
            (folder / "version").write_text(version)
            base.write_bytes(self.base(root))
        self.about = f"Linux {(folder / 'version').read_text()}, emulated"

    @staticmethod
    def base(root: Path) -> bytes:
        """What is the same for all jobs."""
        files: dict[str, bytes | str] = {"init": INIT.encode(), "bin/sh": "busybox"}
        for name in ("bin/busybox", "sbin/ip", "sbin/tc", "sbin/bpftool"):
            path = next(
                path
                for path in root.rglob(name.split("/")[1])
                if path.is_file() and os.access(path, os.X_OK) and "share" not in path.parts
            )
            files[f"bin/{path.name}"] = path.read_bytes()
        for path in sorted(root.rglob("*.so*")):
            if path.is_file() and "x86_64-linux-gnu" in path.parts[-2]:
                files[f"lib/{path.name}"] = path.read_bytes()
        files["lib64/ld-linux-x86-64.so.2"] = "../lib/ld-linux-x86-64.so.2"
        order = modules(root)
        files.update({f"modules/{name}.ko": text for name, text in order})
        files["modules/order"] = "\n".join(f"{name}.ko" for name, _ in order).encode()
        for folder in ("proc", "sys", "dev"):
            files[f"{folder}/.here"] = b""
        return archive(files)

    def run(self, job: str, files: Mapping[str, bytes], seconds: int = 600, output: Path | None = None) -> str:
        image = self.folder / f"job-{os.getpid()}.cpio"
        everything: dict[str, bytes | str] = {f"job/{name}": content for name, content in files.items()}
        # The shell of busybox prefers its own ip and tc, which know less.
        own = "".join(f'{name}() {{ /bin/{name} "$@"; }}\n' for name in ("ip", "tc"))
        everything["job/job.sh"] = (f"export OUTPUT=/dev/ttyS1\n{own}{job}").encode()
        image.write_bytes((self.folder / "base.cpio").read_bytes() + archive(everything))
        command = [
            *(QEMU, "-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off", "-cpu", "qemu64", "-smp", "1"),
            *("-m", "1024", "-nographic", "-no-reboot", "-nodefaults", "-monitor", "none", "-serial", "stdio"),
            *(("-serial", f"file:{output}") if output else ()),
            *("-kernel", str(self.kernel), "-initrd", str(image)),
            *("-append", "console=ttyS0 panic=-1 quiet mitigations=off nokaslr"),
        ]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, timeout=seconds
            )
            return done.stdout.replace("\r", "")
        except subprocess.TimeoutExpired as late:
            shown = late.stdout if isinstance(late.stdout, str) else (late.stdout or b"").decode(errors="replace")
            raise Failed(f"the machine has not ended after {seconds} s:\n{shown[-2000:]}") from None
        finally:
            image.unlink()


if __name__ == "__main__":
    print(
        Emulated(Path(sys.argv[1])).run(
            Path(sys.argv[2]).read_text(), {Path(name).name: Path(name).read_bytes() for name in sys.argv[3:]}
        )
    )
