"""Run the queue disciplines in BPF in a kernel, beside the simulation: `make kernel`.

In this machine's own kernel where that takes them (own_kernel.py), else in an emulated machine with Debian's newest
(emulated.py), every object is loaded, so that the verifier reads it, those of another compiler too (`CLANG=…`);
parameters are changed in use, and second queues refused; UDP's share of a link that it floods stands beside the
simulation's; a run of each is recorded and repeated by the same program on this machine (bpf/host_main.h); and a
packet's cost, in instructions where the machine is emulated, beside queues of the kernel. What is missing here (a
program, the kernel) is said, and what needs it is not run. Exit code 1: something is not as it should be, or fails.

    kernel.py [--machine own|emulated] [--seconds S] [--only NAME,…] [--folder DIR] [load] [use] [traffic] [cost]
"""

from __future__ import annotations

import argparse
import json
import re
import struct
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import bpf
import sluicegate as sg
from emulated import Emulated
from machine import Failed, Machine, Unavailable, run
from own_kernel import OwnKernel
from sluicegate import _core
from sluicegate.deploy import linux_bpf
from sluicegate.live import bpf_queues
from sluicegate.scenario import TrapWarning

HERE = Path(__file__).parent
PORT, WARMUP, TCPS, BYTES, KEPT = 5000, 4, 32, 1000, 16384
CALL = 32
"""Bytes of struct call of bpf/trace.h."""

SCENARIO = """\
[network]
rate = "{rate}"
delay = "5 ms"
[queue]
{queue}
[[flows]]
kind = "tcp"
count = 32
algorithm = "reno"
packet_size = "1000 B"
[[flows]]
kind = "udp"
rate = "20 Mbit/s"
packet_size = "1000 B"
[run]
duration = "{seconds} s"
warmup = "4 s"
"""

QUEUES = {
    "choke": 'discipline = "choke"\nmin_th = 30\nmax_th = 60',
    "choke m=2": 'discipline = "choke"\nmin_th = 30\nmax_th = 60\ncandidates = 2',
    "dcn": 'discipline = "dcn"',
    "afd": 'discipline = "afd"\nq_ref = 60',
    "red": 'discipline = "red"\nmin_th = 30\nmax_th = 60',
    "pi": 'discipline = "pi"\na = 5e-4\nb = 4.9e-4',
    "sred": 'discipline = "sred"',
    "blue": 'discipline = "blue"',
    "rem": 'discipline = "rem"',
}
"""What runs: each discipline, CHOKe with two candidates too."""

NETWORK = """\
for name in a r b; do ip netns add $name; done
ip link add a0 netns a type veth peer name ra netns r
ip link add rb netns r type veth peer name b0 netns b
ip -n a addr add 10.1.0.1/24 dev a0; ip -n r addr add 10.1.0.2/24 dev ra
ip -n r addr add 10.2.0.2/24 dev rb; ip -n b addr add 10.2.0.1/24 dev b0
for where in "a a0" "r ra" "r rb" "b b0"; do
    set -- $where
    ip -n $1 link set $2 mtu 1000 up; ip netns exec $1 ./traffic offload $2
done
ip -n a route add default via 10.1.0.2; ip -n b route add default via 10.2.0.2
ip netns exec r sh -c 'echo 1 > /proc/sys/net/ipv4/ip_forward'
tc -n b qdisc add dev b0 root netem delay 10ms limit 10000
"""

SHARE = """\
bpftool struct_ops register {queue}.o /sys/fs/bpf/{queue}; tc -n r qdisc replace dev rb root {queue}
ip netns exec b ./traffic sink 5000 {seconds} 4 & sink=$!
sleep 0.1
ip netns exec a ./traffic udp 10.2.0.1 5000 972 20e6 {seconds} &
ip netns exec a ./traffic tcp 10.2.0.1 5000 32 {seconds} reno &
echo "SHARE {queue}"; wait $sink
./traffic dump sg_calls 16384 >> $OUTPUT; ./traffic dump sg_bits 16384 >> $OUTPUT
tc -n r qdisc del dev rb root; rm -r /sys/fs/bpf/{queue}; sleep 1
"""

DUMMY = """\
ip link add d0 type dummy; ip link set d0 up; ip addr add 10.9.0.1/24 dev d0
ip neigh add 10.9.0.2 lladdr 02:00:00:00:00:01 dev d0
"""

COST = """\
cost() { ./traffic blast 10.9.0.2 9 72 2000 4 > /dev/null; echo "COST $1 $(./traffic blast 10.9.0.2 9 72 20000 4)"; }
shaped() { # the shaper, the queue in it, how to call both
    tc qdisc del dev d0 root; tc qdisc add dev d0 root handle 1: tbf rate $1 burst 20000 limit 100000
    tc qdisc add dev d0 parent 1:1 $2; cost $3
}
sleep 5 # what a kernel does after its start
tc qdisc replace dev d0 root noqueue; cost noqueue
tc qdisc replace dev d0 root fq_codel; cost fq_codel
choke="choke limit 300 min 30 max 60 avpkt 100 burst 50 bandwidth 10mbit"
shaped 10mbit "fq_codel limit 300" tbf+fq_codel; shaped 10mbit "$choke" tbf+choke
shaped 10gbit "fq_codel limit 300" idle/tbf+fq_codel; shaped 10gbit "$choke" idle/tbf+choke
tc qdisc del dev d0 root
"""

COST_OF = """\
bpftool struct_ops register {file} /sys/fs/bpf/{queue}; tc qdisc replace dev d0 root {queue}; cost {told}
tc qdisc del dev d0 root; rm -r /sys/fs/bpf/{queue}; sleep 1
"""
BOUND, BOUND_FOR = 1.25, ("choke", "dcn")
"""Most that a send may cost, in costs of tbf with fq_codel, and for which."""

USE = """\
bpftool struct_ops register {other}.o /sys/fs/bpf/other # another, which is left alone
bpftool struct_ops register {queue}.o /sys/fs/bpf/x; tc qdisc replace dev d0 root {queue}
maps() {{ bpftool --json prog show id $program | sed 's/.*"map_ids":.\\([0-9,]*\\).*/\\1/; s/,/ /g'; }}
said() {{ echo "ASKED $*"; bpftool --json "$@"; echo; }}
programs=$(bpftool --json struct_ops dump name sluicegate | grep -o 'sg_enqueue/prog_id:[0-9]*' | sed 's/.*://')
for program in $programs; do
    for id in $(maps); do case $(bpftool map show id $id) in *" name {queue}.data "*) data=$id;; esac; done
done
./traffic blast 10.9.0.2 9 72 1000 4
{changes}
./traffic udp 10.9.0.2 9 72 20e6 3 & # a queue stands meanwhile
sleep 0.5; ip link add d1 type dummy; tc qdisc add dev d1 root {queue} 2>&1 && echo TAKEN || echo REFUSED
default=/proc/sys/net/core/default_qdisc # where it is; a default queue that is refused is reset, too
if [ -e $default ]; then
    echo {queue} > $default; ip link add m0 numtxqueues 2 type dummy; ip link set m0 up
    tc qdisc add dev m0 root mq 2>&1 && echo TAKEN || echo REFUSED
    echo pfifo_fast > $default
fi
wait; sleep 1
said struct_ops dump name sluicegate
for program in $programs; do
    said prog show id $program
    for id in $(maps); do
        said map show id $id
        case $(bpftool map show id $id) in *.data*|*.bss*) said map dump id $id;; esac
    done
done
tc qdisc del dev d0 root; rm -r /sys/fs/bpf/x /sys/fs/bpf/other
"""


def resolved(name: str, seconds: int, rate: str = "10 Mbit/s", more: str = "") -> dict[str, object]:
    """The scenario of a line, with every value."""
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(SCENARIO.format(queue=f"{QUEUES[name]}\n{more}", seconds=seconds, rate=rate))
        file.flush()
        return sg.check(file.name)


def queue_name(name: str) -> str:
    """The name in tc of a line's queue."""
    return "sg_" + re.sub(r"\W+", "", name)


def objects(names: list[str], seconds: int, rate: int = 10_000_000) -> dict[str, bytes]:
    """The package's object of each line; with another rate of the link the rest stays."""
    made = {}
    for name in names:
        parameters = struct.pack("<Q", rate) + linux_bpf.parameters(resolved(name, seconds))[8:]
        made[f"{queue_name(name)}.o"] = _core.bpf_object(name.split()[0], queue_name(name), parameters)
    return made


def compiled(names: list[str], seconds: int, *more: str) -> dict[str, bytes]:
    """The object of each line as this machine's compiler makes it."""
    clang = bpf.compiler()
    if bpf.version(clang) is None:
        raise Unavailable(f"{clang} is not here: apt-get install {bpf.CLANG}")
    return {
        f"{queue_name(name)}.o": patched(
            bpf.compiled(name.split()[0], clang, *more), queue_name(name), linux_bpf.parameters(resolved(name, seconds))
        )
        for name in names
    }


def patched(content: bytes, queue: str, parameters: bytes) -> bytes:
    """An object that is not the package's, with parameters and name, which lead .data and .struct_ops.link."""
    sections = {name: (at, size) for name, at, size in bpf.sections(content)}
    whole = bytearray(content)
    at, size = sections[".data"]
    assert size == len(parameters), "another source"
    whole[at : at + size] = parameters
    at, _ = sections[".struct_ops.link"]
    whole[at : at + 16] = queue.encode().ljust(16, b"\0")
    return bytes(whole)


def ran(machine: Machine, job: str, files: dict[str, bytes], seconds: int = 600, output: Path | None = None) -> str:
    """What a job prints, of which every command must succeed."""
    said = machine.run(job, files, seconds, output)
    if not re.search(r"^job ended: 0$", said, re.MULTILINE):
        sys.exit(f"{said}\na command of the job has failed, or the machine")
    return said


def load(machine: Machine, names: list[str], seconds: int) -> None:
    """Every object is read by the verifier."""
    kinds = {"the package": objects(names, seconds)}
    if (clang := bpf.compiler()) != bpf.CLANG:
        kinds[f"clang {bpf.version(clang)}"] = compiled(names, seconds)
    for kind, files in kinds.items():
        lines = [
            f"bpftool struct_ops register {file} /sys/fs/bpf/x 2>&1 | tail -3; rm -r /sys/fs/bpf/x; sleep 0.3"
            for file in files
        ]
        said = ran(machine, "\n".join(lines), files)
        loaded = said.count("Registered Qdisc_ops")
        print(f"\nLoaded: {loaded} of {len(files)} objects of {kind}", flush=True)
        if loaded != len(files):
            sys.exit(said)


def use(machine: Machine, names: list[str], seconds: int) -> None:
    """A queue whose parameters change, as `sluicegate bpf` changes them, beside others that are refused."""
    queue, other, before = queue_name("dcn"), queue_name("afd"), linux_bpf.laid_out(resolved("dcn", seconds))
    after = linux_bpf.laid_out(resolved("dcn", seconds, "12 Mbit/s", "q_ref = 40"), generation=2)
    writes = bpf_queues.writes(before.content, after.content)
    changes = "\n".join(f"bpftool map update id $data {' '.join(words)}" for words in writes)
    files = objects(["dcn", "afd"], seconds) | {"traffic": generator()}
    said = ran(machine, DUMMY + USE.format(queue=queue, other=other, changes=changes), files)
    answers = dict(re.findall(r"^ASKED (.*)\n(.*)$", said, re.MULTILINE))
    try:
        bpf_queues.bpftool = lambda *words: json.loads(answers[" ".join(words)])  # what it said there
        (found,) = (each for each in bpf_queues.queues() if each.name == queue)
        row, left = found.row(), found.changed(after)
    except (KeyError, ValueError):
        sys.exit(said)
    arrived, *fates = (row[f"{what}_packets"] for what in ("arrivals", "departures", "drops", "queue"))
    print(f"\nIn use: q_ref and rate changed, {said.count('REFUSED')} other queues refused;", end=" ")
    print(f"{arrived} arrivals = {' + '.join(map(str, fates))} sent, dropped, queued", flush=True)
    changed = row["rate_bps"] == 12_000_000 and found.generation == 2 and not left
    if not changed or not arrived == sum(fates) >= 3000 or "TAKEN" in said or "REFUSED" not in said:
        sys.exit(said)


def simulated(name: str, seconds: int) -> list[float]:
    """UDP's part of what is received, with three seeds, in percent."""
    shares = []
    for seed in (1, 2, 3):
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
            file.write(SCENARIO.format(queue=QUEUES[name], seconds=seconds, rate="10 Mbit/s"))
            file.flush()
            flows = sg.run(file.name, seed=seed).flows
        udp = flows.filter(flows["kind"] == "udp")["throughput_bps"].sum()
        shares.append(100 * udp / flows["throughput_bps"].sum())
    return shares


def traffic(machine: Machine, names: list[str], seconds: int) -> None:
    """UDP's share of the link in the kernel and in the simulation; and what each queue did in its first calls, repeated
    here by the same program. Segments carry 948 bytes of data, datagrams 972.
    """
    files = compiled(names, seconds, "-DSG_TRACE") | {"traffic": generator()}
    job = NETWORK + "".join(SHARE.format(queue=queue_name(name), seconds=seconds) for name in names)
    each, apart = KEPT * (CALL + 8), []
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / "kept"
        said = ran(machine, job, files, 7200, kept)
        data = kept.read_bytes() if kept.exists() else b""
        found = re.findall(r"SHARE (\w+)\s+(?:.*\n)*?RECEIVED tcp (\d+) udp (\d+)", said)
        if len(found) != len(names) or len(data) != each * len(names):
            sys.exit(f"{said}\n{len(data)} bytes were recorded")
        print(f"\nUDP's share of 10 Mbit/s in %, 20 Mbit/s offered beside {TCPS} TCPs, {seconds - WARMUP} s")
        print(f"{'':14}{'kernel':>8}   simulation, 3 seeds   utilisation in the kernel")
        for name, (_, tcp, udp) in zip(names, found, strict=True):
            segments, datagrams = int(tcp) * 1000 / 948, int(udp) * 1000 / 972
            share = 100 * datagrams / (segments + datagrams)
            used = 8 * (segments + datagrams) / 1e5 / (seconds - WARMUP)
            seeds = sorted(simulated(name, seconds))
            beside = ", ".join(f"{each:.2f}" for each in seeds)
            print(f"{name:14}{share:8.2f}   {beside:22}{used:8.1f} %", flush=True)
            if min(share, *seeds) < 30 and abs(share - sum(seeds) / len(seeds)) > 1:
                apart.append(name)
        print("\nThe first calls in the kernel, repeated on this machine")
        for at, name in enumerate(names):
            repeat(name, trace(data[at * each :][:each], linux_bpf.parameters(resolved(name, seconds))))
    if apart:
        sys.exit(f"more than 1 point from the simulation's mean: {', '.join(apart)}")


def repeat(name: str, events: bytes) -> None:
    """The calls of a line, by the same program on this machine. No calls are no proof."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "program"
        run("cc", "-O2", "-DSG_HOST", "-x", "c", bpf.SOURCES / f"{name.split()[0]}.bpf.c", "-o", program)
        done = subprocess.run([program], input=events, capture_output=True)
    said = done.stdout.decode().strip()
    print(f"{name:14}{said}", flush=True)
    if done.returncode or not re.match(r"equal: [1-9]\d* arrivals, [1-9]", said):
        sys.exit(f"{name}: not repeated")


def trace(data: bytes, parameters: bytes) -> bytes:
    """What the kernel's program kept (struct call, and random numbers) as what the host's reads (struct event)."""
    unknown = 0xFFFFFFFF
    bits, used = data[KEPT * CALL :], 0
    calls = list(struct.iter_unpack("<QQIIII", data[: KEPT * CALL]))
    made = []
    for now, flow, size, draws, what, result in calls:
        if now == 0 or used + draws > KEPT:
            break
        event = struct.pack("<QQQIIIBBxx", now, flow, 0, size, draws, unknown, what, result)
        made.append(event + (parameters if what == 0 else bits[8 * used : 8 * (used + draws)]))
        used += draws
    return b"".join(made)


def cost(machine: Machine, names: list[str], seconds: int) -> None:
    """What a send of UDP costs the kernel to a device that is overloaded, and to one that is idle, 20,000 packets."""
    files = objects(names, seconds) | {f"idle_{name}": made for name, made in objects(names, seconds, 10**10).items()}
    lines = [
        COST_OF.format(queue=queue, file=f"{before}{queue}.o", told=f"{told}{queue}")
        for before, told in (("", ""), ("idle_", "idle/"))
        for queue in map(queue_name, names)
    ]
    said = ran(machine, DUMMY + COST + "".join(lines), files | {"traffic": generator()}, 3600)
    found = {name: int(number) for name, number in re.findall(r"COST (\S+) (\d+)", said)}
    if len(found) != 6 + 2 * len(names):
        sys.exit(said)
    dear = []
    for told, before in (("10 Mbit/s that are overloaded", ""), ("10 Gbit/s that are idle", "idle/")):
        print(f"\n{machine.clock.capitalize()} for a packet of 100 bytes, the whole send, into {told}")
        base = found[f"{before}tbf+fq_codel"]
        for name, number in found.items():
            if name.startswith("idle/") == bool(before):
                print(f"{name.removeprefix(before):16}{number:7}   {number / base:.2f} times tbf + fq_codel")
        dear += [name for name in BOUND_FOR if found.get(before + queue_name(name), 0) > BOUND * base]
    if machine.clock == "instructions" and dear:
        sys.exit(f"above {BOUND} times tbf + fq_codel: {', '.join(dear)}")


def generator() -> bytes:
    """The program that makes traffic, for the machine."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "traffic"
        run("cc", "-O2", "-static", HERE / "traffic.c", "-o", out)
        return out.read_bytes()


PARTS = {"load": load, "use": use, "traffic": traffic, "cost": cost}


def chosen(only: str) -> list[str]:
    """The lines of these names, in the table's order; argparse tells of others."""
    given = [name.strip() for name in only.split(",")]
    if unknown := [name for name in given if name not in QUEUES]:
        raise argparse.ArgumentTypeError(f"no line {', '.join(unknown)}: there are {', '.join(QUEUES)}")
    return [name for name in QUEUES if name in given]


def machine_here(which: str | None, folder: Path) -> Machine:
    """This machine where its kernel can, else an emulated one. Raises Unavailable."""
    try:
        if which != "emulated":
            return OwnKernel()
    except Unavailable as reason:
        if which == "own":
            raise
        print(f"{reason}; so an emulated one", flush=True)
    return Emulated(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], default=[])
    parser.add_argument("--machine", choices=["own", "emulated"], help="default: its own kernel, if that can")
    parser.add_argument("--seconds", type=int, default=24, help="of traffic for each share, 4 of them before it counts")
    parser.add_argument("--only", type=chosen, default=list(QUEUES), help="lines of the table, by name")
    parser.add_argument("--folder", type=Path, default=Path("out/kernel"), help="where Debian's packages go")
    given = parser.parse_args()
    warnings.simplefilter("ignore", TrapWarning)  # a flood is what the scenario is for
    try:
        machine = machine_here(given.machine, given.folder.absolute())
    except (Unavailable, Failed) as reason:  # no kernel is to be had
        print(f"skipped: {reason}")
        return
    print(f"{machine.about}: {', '.join(given.only)}", flush=True)
    for part in given.parts or PARTS:
        try:
            PARTS[part](machine, given.only, given.seconds)
        except Unavailable as reason:
            print(f"{part} skipped: {reason}", flush=True)
        except Failed as reason:
            sys.exit(f"{part} failed: {reason}")


if __name__ == "__main__":
    main()
