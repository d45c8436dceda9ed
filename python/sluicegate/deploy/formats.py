"""The lines for `tc` in the files that configure routers: systemd-networkd, NixOS, OpenWrt's SQM, NetworkManager,
and a unit of systemd.

Each is a translation of the lines (`linux`, `access`), so their content is decided in one place. If a file format has
no word for a value, a remark says so; if it has none for the discipline, the discipline is refused.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from ..quantities import in_base_unit
from . import systemd as units
from .openwrt import SCRIPTS
from .plan import undo
from .target import Deployment, Undeployable

SQM_UNIT = 1000
"""OpenWrt's SQM counts kbit/s."""


@dataclass(frozen=True)
class Section:
    """A section of networkd for a discipline, or a class: the key for each word of `tc` with a value, and key and value
    for each word that stands alone, or for a word with this value. None: a default that needs no key."""

    name: str
    keys: Mapping[str, str]
    words: Mapping[str, tuple[str, str] | None]
    newer: Mapping[str, int] | None = None
    """Keys that older networkds lack, and the version of systemd that introduced each."""


ECN: dict[str, tuple[str, str] | None] = {"ecn": ("ECN", "yes"), "noecn": ("ECN", "no")}
CODEL = {"limit": "PacketLimit", "target": "TargetSec", "interval": "IntervalSec", "ce_threshold": "CEThresholdSec"}
FLOW_MODES = {
    "flowblind": "none", "srchost": "src-host", "dsthost": "dst-host", "hosts": "hosts", "flows": "flows",
    "dual-srchost": "dual-src-host", "dual-dsthost": "dual-dst-host", "triple-isolate": "triple",
}  # fmt: skip
TINS = ("besteffort", "precedence", "diffserv8", "diffserv4", "diffserv3")

NETWORKD = {
    "cake": Section(
        "CAKE",
        {"bandwidth": "Bandwidth", "overhead": "OverheadBytes", "mpu": "MPUBytes", "rtt": "RTTSec"},
        {word: ("FlowIsolationMode", mode) for word, mode in FLOW_MODES.items()}
        | {tins: ("PriorityQueueingPreset", tins) for tins in TINS}
        | {"nat": ("NAT", "yes"), "nonat": ("NAT", "no"), "wash": ("Wash", "yes"), "nowash": ("Wash", "no")}
        | {word: ("CompensationMode", mode) for word, mode in (("noatm", "none"), ("atm", "atm"), ("ptm", "ptm"))}
        | {"autorate-ingress": ("AutoRateIngress", "yes")}
        | {"split-gso": ("SplitGSO", "yes"), "no-ack-filter": None, "egress": None, "rtt 100ms": None}
        | {"ack-filter": ("AckFilter", "yes"), "ack-filter-aggressive": ("AckFilter", "aggressive")},
        {"RTTSec": 253, "AckFilter": 253},
    ),
    "fq_codel": Section(
        "FairQueueingControlledDelay",
        CODEL | {"memory_limit": "MemoryLimitBytes", "flows": "Flows", "quantum": "QuantumBytes"},
        ECN | {"drop_batch 64": None},
    ),
    "codel": Section("ControlledDelay", CODEL, ECN),
    "pfifo": Section("PFIFO", {"limit": "PacketLimit"}, {}),
    "bfifo": Section("BFIFO", {"limit": "LimitBytes"}, {}),
    "htb": Section("HierarchyTokenBucket", {"default": "DefaultClass"}, {}),
}  # fmt: skip
"""The disciplines that networkd can set up with all parameters that matter."""

HTB_CLASS = Section(
    "HierarchyTokenBucketClass",
    {"rate": "Rate", "burst": "BufferBytes", "cburst": "CeilBufferBytes", "quantum": "QuantumBytes",
     "overhead": "OverheadBytes"}, {},
)  # fmt: skip


@dataclass
class Line:
    """One line for tc: what it adds, where, and its words."""

    dev: str
    parent: str
    handle: str
    kind: str
    words: list[str]
    of_class: bool

    def value(self, key: str) -> str:
        """The word behind another; "" where it is not there."""
        return self.words[self.words.index(key) + 1] if key in self.words else ""


def parse(line: str) -> Line:
    """A line for tc that adds a queue or a class. Raises Undeployable for any other."""
    words = shlex.split(line)
    if words[0] != "tc" or words[1] not in ("qdisc", "class") or "ingress" in words[5:8]:
        raise Undeployable(f"this format has no counterpart for: {line}")
    of_class = words[1] == "class"
    dev, rest = words[4], words[5:]
    parent = "root" if rest[0] == "root" else rest[1]
    rest = rest[1:] if rest[0] == "root" else rest[2:]
    handle, rest = (rest[1], rest[2:]) if rest[0] in ("handle", "classid") else ("", rest)
    return Line(dev, parent, handle, rest[0], rest[1:], of_class)


def sections(done: Deployment) -> tuple[dict[str, list[tuple[str, dict[str, str]]]], list[str]]:
    """By interface the sections of networkd with their keys; remarks on what they leave out. Raises Undeployable."""
    found: dict[str, list[tuple[str, dict[str, str]]]] = {}
    remarks: list[str] = []
    for text in done.lines:
        if text.startswith("ip ") or " ingress" in text[:60] or " action mirred " in text:
            raise Undeployable(
                "networkd cannot redirect incoming traffic to an ifb device: name the interface to the home, --lan NAME"
            )
        line = parse(text)
        section = HTB_CLASS if line.of_class and line.kind == "htb" else NETWORKD.get(line.kind)
        if section is None or (line.of_class and line.kind != "htb"):
            known = ", ".join(kind for kind in NETWORKD if kind != "htb")
            raise Undeployable(f"networkd does not know the values of {line.kind}, only those of {known}")
        keys = {"Parent": "root" if line.of_class else line.parent}
        keys |= {"ClassId" if line.of_class else "Handle": line.handle.removesuffix(":")} if line.handle else {}
        words, left = list(line.words), []
        while words:
            word, value = words[0], words[1] if len(words) > 1 else ""
            if f"{word} {value}" in section.words or word in section.words:
                two = f"{word} {value}" in section.words
                if (pair := section.words[f"{word} {value}" if two else word]) is not None:
                    keys[pair[0]] = pair[1]
                words = words[2 if two else 1 :]
            elif word in section.keys:
                unit = "bit" if value.endswith("bit") else ""
                keys[section.keys[word]] = value.removesuffix(unit).replace("k", "K")
                words = words[2:]
            else:
                number = len(words) > 1 and (value[0].isdigit() or word == "linklayer")
                left.append(f"{word} {value}" if number else word)
                words = words[2 if number else 1 :]
        newer = [f"{key} (since systemd {since})" for key, since in (section.newer or {}).items() if key in keys]
        remarks += [f"{line.dev}: networkd has no key for: {', '.join(left)}"] if left else []
        remarks += [f"{line.dev}: not every networkd has {', '.join(newer)}"] if newer else []
        found.setdefault(line.dev, []).append((section.name, keys))
    return found, remarks


def networkd(done: Deployment) -> str:
    """Sections for the `.network` files of the interfaces."""
    found, remarks = sections(done)
    text = ""
    for dev, each in found.items():
        text += f"# for the .network file of {dev}, which `networkctl status {dev}` names\n"
        for name, keys in each:
            text += f"\n[{name}]\n" + "".join(f"{key}={value}\n" for key, value in keys.items())
        text += "\n"
    return text + _remarks(done, remarks)


def nixos(done: Deployment) -> str:
    """A fragment of a NixOS module: the sections of networkd as nixpkgs names them."""
    found, remarks = sections(done)
    text = ""
    for dev, each in found.items():
        options: dict[str, str] = {}
        for name, keys in each:
            option = "cakeConfig" if name == "CAKE" else f"{name[0].lower()}{name[1:]}Config"
            option = {"pFIFOConfig": "pfifoConfig", "bFIFOConfig": "bfifoConfig"}.get(option, option)
            options[option] = " ".join(f'{key} = "{value}";' for key, value in keys.items())
        text += f"# for {dev}; your configuration may have another name for this network\n"
        text += f'systemd.network.networks."{dev}" = {{\n'
        text += "".join(f"  {option} = {{ {values} }};\n" for option, values in options.items()) + "};\n"
    return text + _remarks(done, remarks)


def openwrt(done: Deployment) -> str:
    """A section of OpenWrt's /etc/config/sqm, which shapes both directions on the interface to the network."""
    if len(done.parts) != 2:
        raise Undeployable("OpenWrt's SQM shapes both directions: name the interface to the network, --wan NAME")
    queues, rates = [], []
    for part in done.parts:
        lines = [
            parse(line) for line in part.lines if line.startswith(("tc qdisc", "tc class")) and "ffff:" not in line
        ]
        shaper = lines[0] if len(lines) == 1 else lines[1]
        rates.append(in_base_unit(_rate(shaper.value("bandwidth") or shaper.value("rate"))))
        queues.append((lines[-1], shaper))
    (up, shaper), (down, _) = queues
    if "'" in up.dev:
        raise Undeployable(f"{up.dev}: OpenWrt's uci quotes words with ', so a name cannot contain one")
    if down.dev[:4] != "ifb4":  # another place, where other values hold, such as nat
        raise Undeployable("OpenWrt's SQM makes an ifb device for the download itself: leave out --lan")
    if up.kind not in SCRIPTS:
        raise Undeployable(f"OpenWrt's SQM has no script for {up.kind}, only for {', '.join(SCRIPTS)}")
    options = {
        "enabled": "1", "interface": up.dev, "download": str(rates[1] // SQM_UNIT), "upload": str(rates[0] // SQM_UNIT),
        "qdisc": up.kind, "script": SCRIPTS[up.kind], "qdisc_advanced": "1", "squash_dscp": "0", "squash_ingress": "0",
        "qdisc_really_really_advanced": "1", "iqdisc_opts": _rest(down), "eqdisc_opts": _rest(up),
    }  # fmt: skip
    if up.kind == "fq_codel":
        options |= {"ilimit": down.value("limit"), "elimit": up.value("limit")}
        options |= {"itarget": down.value("target"), "etarget": up.value("target")}
        said = "ECN" if "ecn" in up.words else "NOECN"
        options |= {"ingress_ecn": said, "egress_ecn": said, "linklayer": shaper.value("linklayer") or "ethernet"}
        options |= {"overhead": shaper.value("overhead") or "0", "tcMPU": shaper.value("mpu") or "0"}
    else:
        options["linklayer"] = "none"
    text = "config queue 'sluicegate'\n" + "".join(f"\toption {key} '{value}'\n" for key, value in options.items())
    framing = "the framing is in iqdisc_opts and eqdisc_opts, which SQM puts at the end of tc's commands"
    return text + _remarks(done, [framing] if up.kind == "cake" else [])


def networkmanager(done: Deployment) -> str:
    """A script for NetworkManager's dispatcher, which runs the lines whenever the interface comes up."""
    dev = shlex.quote(parse(next(line for line in done.lines if line.startswith("tc "))).dev)
    text = f"#!/bin/sh\n# /etc/NetworkManager/dispatcher.d/50-sluicegate, with mode 755\n# {REPLACED}\n"
    text += f'[ "$1" = {dev} ] || exit 0\n'
    text += '[ "$2" = up ] || exit 0\n' + "".join(f"{line} 2>/dev/null\n" for line in undo(done.lines))
    return text + done.text()


def systemd(done: Deployment) -> str:
    """A unit of systemd, which runs the lines as long as the interface to the network is there."""
    dev = parse(next(line for line in done.lines if line.startswith("tc "))).dev
    took = undo(done.lines)
    name = f"sluicegate-{dev}.service"
    said = f"# /etc/systemd/system/{name}; then: systemctl daemon-reload && systemctl enable --now {name}\n"
    said += f"# to undo it: systemctl disable --now {name}, then remove the file\n# {REPLACED}\n"
    return (
        said
        + units.unit(f"Queues of {dev}", dev, [*(f"-{line}" for line in took), *done.lines], took)
        + _remarks(done, [])
    )


REPLACED = "first it deletes the queues that the interface has, whoever made them"
"""What is said of files that can run twice."""

FORMATS: dict[str, Callable[[Deployment], str]] = {
    "tc": Deployment.text, "networkd": networkd, "nixos": nixos, "openwrt": openwrt, "networkmanager": networkmanager,
    "systemd": systemd,
}  # fmt: skip
"""What `sluicegate tc --format` takes."""


def fitting(done: Deployment) -> list[str]:
    """The formats that have words for these lines."""
    found = []
    for name, written in FORMATS.items():
        with suppress(Undeployable):
            written(done)
            found.append(name)
    return found


def _rate(word: str) -> str:
    """A rate of tc's as the scenario writes it."""
    number = word.rstrip("KMGTkbit")
    return f"{number} {word[len(number) :]}/s"


def _rest(line: Line) -> str:
    """All words of a queue but those for which SQM has options of its own."""
    own = ("bandwidth",) if line.kind == "cake" else ("limit", "target")
    words, said = list(line.words), []
    while words:
        taken = 2 if words[0] in own else 1
        said += words[:taken] if taken == 1 and words[0] not in ("ecn", "noecn") else []
        words = words[taken:]
    return " ".join(said)


def _remarks(done: Deployment, remarks: list[str]) -> str:
    """Remarks as comments: those on the translation, then on the directions."""
    return "".join(f"# {each}\n" for each in [*remarks, *(part.title for part in done.parts)])
