"""Run the queue disciplines in BPF in a kernel, beside the simulation: `make kernel`.

In an emulated machine with Debian's newest kernel (emulated.py) every object is loaded, so that the verifier reads it;
UDP's share of a link that it floods stands beside the simulation's; a run of each is recorded and repeated by the same
program on this machine (bpf/host_main.h); and a packet's cost, in instructions, beside queues of the kernel. What is
missing here is said, and nothing is run.

    kernel.py [--seconds S] [--only NAME,…] [--folder DIR] [load] [traffic] [cost]
"""

from __future__ import annotations

import argparse
import json
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import bpf
import sluicegate as sg
from emulated import Machine, Unavailable
from sluicegate import _core
from sluicegate.deploy import linux_bpf

HERE = Path(__file__).parent
PORT, WARMUP, TCPS, BYTES, KEPT = 5000, 4, 32, 1000, 16384
CALL = 32
"""Bytes of struct call of bpf/trace.h."""

SCENARIO = """\
[network]
rate = "10 Mbit/s"
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
    "choke, m = 2": 'discipline = "choke"\nmin_th = 30\nmax_th = 60\ncandidates = 2',
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
bpftool struct_ops register {queue}.o /sys/fs/bpf/{queue} && tc -n r qdisc replace dev rb root {queue}
ip netns exec b ./traffic sink 5000 {seconds} 4 & sink=$!
sleep 0.1
ip netns exec a ./traffic udp 10.2.0.1 5000 972 20e6 {seconds} &
ip netns exec a ./traffic tcp 10.2.0.1 5000 32 {seconds} reno &
echo "SHARE {queue}"; wait $sink
./traffic dump sg_calls 16384 > /dev/ttyS1; ./traffic dump sg_bits 16384 > /dev/ttyS1
tc -n r qdisc del dev rb root; rm -r /sys/fs/bpf/{queue}; sleep 1
"""

COST = """\
ip link add d0 type dummy; ip link set d0 up; ip addr add 10.9.0.1/24 dev d0
ip neigh add 10.9.0.2 lladdr 02:00:00:00:00:01 dev d0
cost() { ./traffic blast 10.9.0.2 9 72 2000 4 > /dev/null; echo "COST $1 $(./traffic blast 10.9.0.2 9 72 20000 4)"; }
sleep 5 # what a kernel does after its start
tc qdisc replace dev d0 root noqueue; cost noqueue
tc qdisc replace dev d0 root fq_codel; cost fq_codel
tc qdisc replace dev d0 root tbf rate 10mbit burst 2000 limit 100000; cost tbf
tc qdisc del dev d0 root; tc qdisc add dev d0 root handle 1: tbf rate 10mbit burst 2000 limit 100000
tc qdisc add dev d0 parent 1:1 fq_codel limit 300; cost tbf+fq_codel
tc qdisc replace dev d0 parent 1:1 choke limit 300 min 30 max 60 avpkt 100 burst 50 bandwidth 10mbit; cost tbf+choke
tc qdisc del dev d0 root
"""

COST_OF = """\
bpftool struct_ops register {queue}.o /sys/fs/bpf/{queue} && tc qdisc replace dev d0 root {queue}; cost {queue}
tc qdisc del dev d0 root; rm -r /sys/fs/bpf/{queue}
"""


def resolved(name: str, seconds: int) -> dict[str, object]:
    """The scenario of a line, with every value."""
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(SCENARIO.format(queue=QUEUES[name], seconds=seconds))
        file.flush()
        return sg.check(file.name)


def queue_name(name: str) -> str:
    """The name in tc of a line's queue."""
    return "sg_" + re.sub(r"\W+", "", name)


def objects(names: list[str], seconds: int, traced: bool = False) -> dict[str, bytes]:
    """The object of each line; with `traced` one that keeps its calls, from the same source."""
    made = {}
    for name in names:
        discipline, parameters = name.split(",")[0], linux_bpf.parameters(resolved(name, seconds))
        content = _core.bpf_object(discipline, queue_name(name), parameters)
        if traced:
            content = bpf.compiled(discipline, bpf.CLANG, "-DSG_TRACE")
            content = patched(content, queue_name(name), parameters)
        made[f"{queue_name(name)}.o"] = content
    return made


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


def load(machine: Machine, names: list[str], seconds: int) -> None:
    """Every object is read by the verifier."""
    files = objects(names, seconds)
    lines = [
        f"bpftool struct_ops register {file} /sys/fs/bpf/x 2>&1 | tail -3; rm -r /sys/fs/bpf/x; sleep 0.3"
        for file in files
    ]
    said = machine.run("\n".join(lines), files)
    loaded = said.count("Registered Qdisc_ops")
    print(f"\nLoaded: {loaded} of {len(files)} objects")
    if loaded != len(files):
        sys.exit(said)


def simulated(name: str, seconds: int) -> list[float]:
    """UDP's part of what is received, with three seeds, in percent."""
    shares = []
    for seed in (1, 2, 3):
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
            file.write(SCENARIO.format(queue=QUEUES[name], seconds=seconds))
            file.flush()
            flows = sg.run(file.name, seed=seed).flows
        udp = flows.filter(flows["kind"] == "udp")["throughput_bps"].sum()
        shares.append(100 * udp / flows["throughput_bps"].sum())
    return shares


def traffic(machine: Machine, names: list[str], seconds: int) -> None:
    """UDP's share of the link in the kernel and in the simulation; and what each queue did in its first calls, repeated
    here by the same program. Segments carry 948 bytes of data, datagrams 972.
    """
    files = objects(names, seconds, traced=True) | {"traffic": generator()}
    job = NETWORK + "".join(SHARE.format(queue=queue_name(name), seconds=seconds) for name in names)
    each = KEPT * (CALL + 8)
    with tempfile.TemporaryDirectory() as folder:
        kept, program = Path(folder) / "kept", Path(folder) / "program"
        said = machine.run(job, files, 7200, kept)
        data = kept.read_bytes()
        found = re.findall(r"SHARE (\w+)\s+(?:.*\n)*?RECEIVED tcp (\d+) udp (\d+)", said)
        if len(found) != len(names) or len(data) != each * len(names):
            sys.exit(f"{said}\n{len(data)} bytes were recorded")
        print(f"\nUDP's share of 10 Mbit/s in %, 20 Mbit/s offered beside {TCPS} TCPs, {seconds - WARMUP} s")
        print(f"{'':14}{'kernel':>8}   simulation, 3 seeds   utilisation in the kernel")
        for name, (_, tcp, udp) in zip(names, found, strict=True):
            segments, datagrams = int(tcp) * 1000 / 948, int(udp) * 1000 / 972
            share = 100 * datagrams / (segments + datagrams)
            used = 8 * (segments + datagrams) / 1e5 / (seconds - WARMUP)
            beside = ", ".join(f"{each:.2f}" for each in sorted(simulated(name, seconds)))
            print(f"{name:14}{share:8.2f}   {beside:22}{used:8.1f} %", flush=True)
        print("\nThe first calls in the kernel, repeated on this machine")
        for at, name in enumerate(names):
            source = bpf.SOURCES / f"{name.split(',')[0]}.bpf.c"
            subprocess.run(["cc", "-O2", "-DSG_HOST", "-x", "c", str(source), "-o", str(program)], check=True)
            events = trace(data[at * each :][:each], linux_bpf.parameters(resolved(name, seconds)))
            done = subprocess.run([program], input=events, capture_output=True)
            print(f"{name:14}{done.stdout.decode().strip()}", flush=True)
            if done.returncode:
                sys.exit(1)


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
    """Instructions of the kernel for a send of UDP to a device that is overloaded, 20,000 packets of 100 bytes."""
    files = objects(names, seconds) | {"traffic": generator()}
    said = machine.run(COST + "".join(COST_OF.format(queue=queue_name(name)) for name in names), files, 3600)
    found = {name: int(number) for name, number in re.findall(r"COST (\S+) (\d+)", said)}
    if len(found) != 5 + len(names):
        sys.exit(said)
    print("\nInstructions for a packet of 100 bytes, the whole send, into 10 Mbit/s that are overloaded")
    for name, number in found.items():
        print(f"{name:16}{number:7}   {number / found['tbf+fq_codel']:.2f} times tbf + fq_codel")


def generator() -> bytes:
    """The program that makes traffic, for the machine."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "traffic"
        subprocess.run(["cc", "-O2", "-static", str(HERE / "traffic.c"), "-o", str(out)], check=True)
        return out.read_bytes()


PARTS = {"load": load, "traffic": traffic, "cost": cost}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], default=[])
    parser.add_argument("--seconds", type=int, default=24, help="of traffic for each share, 4 of them before it counts")
    parser.add_argument("--only", default=",".join(QUEUES), help="lines of the table, by name")
    parser.add_argument("--folder", type=Path, default=Path("out/kernel"), help="where Debian's packages go")
    given = parser.parse_args()
    names = [name for name in QUEUES if name in given.only]
    try:
        machine = Machine(given.folder.absolute())
        print(f"Linux {machine.version}, emulated: {json.dumps(names)}")
        for part in given.parts or PARTS:
            PARTS[part](machine, names, given.seconds)
    except Unavailable as reason:
        print(f"skipped: {reason}")


if __name__ == "__main__":
    main()
