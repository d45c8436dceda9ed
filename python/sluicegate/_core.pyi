"""The Rust core. `api` is what people use; this only says what crosses the border."""

import builtins
from collections.abc import Callable, Sequence
from typing import Any, TypedDict, final

from .custom.aqm import Maker

class ScenarioError(ValueError):
    """A scenario that cannot be run: `file:line: key = value: rule`, with the nearest name if that helps.

    >>> try:
    ...     sg.run("unresponsive", sets={"queue.limt": 100})
    ... except sg.ScenarioError as error:
    ...     print(error)
    sets: queue.limt: no such key; did you mean "limit"?
    """

class ConservationError(RuntimeError):
    """A discipline written in Python lost count of a packet; the message names the packet.

    >>> class Forgetful(sg.Aqm):
    ...     def enqueue(self, packet, ctx):
    ...         pass  # neither kept nor dropped
    ...
    ...     def dequeue(self, ctx):
    ...         return None
    >>> try:
    ...     sg.run("unresponsive", queue=Forgetful, duration="2 s", warmup="0 s")
    ... except sg.ConservationError as error:
    ...     print(type(error).__name__)
    ConservationError
    """

@final
class Packet:
    """A packet in the queue of a discipline written in Python; each is returned or dropped exactly once.

    >>> class MarkAll(sg.Aqm):  # Marks what can carry a mark
    ...     def __init__(self):
    ...         self.queue = sg.PacketQueue()
    ...
    ...     def enqueue(self, packet, ctx):
    ...         packet.mark()
    ...         self.queue.append(packet)
    ...
    ...     def dequeue(self, ctx):
    ...         return self.queue.pop()
    >>> net = sg.dumbbell(rate="1 Mbit/s", queue=MarkAll)
    >>> run = sg.simulate(net, sg.Tcp(ecn=True), duration="2 s", warmup="0 s")
    >>> run.links["marked_packets"].item() > 0
    True
    """

    @property
    def number(self) -> int:
        """Its position in the order of arrival at this queue, from 1."""
    @property
    def arrival_ns(self) -> int:
        """When it arrived at this queue, in nanoseconds: it has waited for `ctx.now_ns - packet.arrival_ns`."""
    @property
    def flow(self) -> int:
        """The number of its flow, as in results. If connections come and go in its group (`http`, `connections`), the
        unique number of its connection. Negative for packets that travel back to the flow's sender. In a replay the
        hash of its flow, the column `key`."""
    @property
    def bytes(self) -> int:
        """Its length in bytes, IP header included."""
    @property
    def ecn(self) -> int:
        """Its ECN field as in the IP header: 0 not capable, 1 and 2 capable, 3 marked."""
    @property
    def header(self) -> Header | None:
        """The header of its TCP segment; None for any other packet, in a replay, and with real packets."""
    def mark(self) -> bool:
        """Mark it; False when it is not ECN-capable: then drop it instead."""

@final
class Header:
    """The header of a TCP segment, with the names of the table `segments`.

    >>> class LoseSyn(sg.Aqm):  # Drops the first SYN
    ...     def __init__(self):
    ...         self.queue, self.lost = sg.PacketQueue(), False
    ...
    ...     def enqueue(self, packet, ctx):
    ...         if "SYN" in packet.header.flags and not self.lost:
    ...             self.lost = True
    ...             ctx.drop(packet, "early")
    ...         else:
    ...             self.queue.append(packet)
    ...
    ...     def dequeue(self, ctx):
    ...         return self.queue.pop()
    >>> net = sg.dumbbell(rate="1 Mbit/s", queue=LoseSyn)
    >>> run = sg.simulate(net, sg.Tcp(), duration="5 s", warmup="0 s")
    >>> run.flows["drops_early"].item()
    1
    """

    @property
    def first_byte(self) -> int:
        """Its sequence number, which counts the bytes of the stream from 0 and does not wrap."""
    @property
    def data_bytes(self) -> int:
        """How many bytes of the stream it carries."""
    @property
    def ack_byte(self) -> int | None:
        """Its acknowledgement number: the next byte that its sender expects; None without the flag ACK."""
    @property
    def sack(self) -> list[tuple[int, int]]:
        """The ranges that it reports beyond that (SACK), a duplicate (D-SACK) first."""
    @property
    def window_bytes(self) -> int | None:
        """Its advertised window; None if hosts do not change theirs."""
    @property
    def flags(self) -> frozenset[str]:
        """The names of its flags: SYN, FIN, PSH, ACK, ECE, CWR."""

@final
class Datagram:
    """What an end in Python sends or receives.

    >>> sg.Datagram(b"hello", ecn=1).bytes
    33
    """

    def __new__(cls, payload: bytes | None = None, *, bytes: int | None = None, ecn: int = 0) -> Datagram:
        """`payload`: what it carries. `bytes`: its length, IP header included; without it that of the payload and the
        28 bytes of IP's and UDP's headers. `ecn`: its ECN field, 0 to 3.

        Raises ValueError for a length that the payload does not fit into, or above 65535, and for another field.
        """
    @property
    def bytes(self) -> int:
        """Its length in bytes, IP header included."""
    @property
    def ecn(self) -> int:
        """Its ECN field as in the IP header: 0 not capable, 1 and 2 capable, 3 marked."""
    @property
    def payload(self) -> builtins.bytes:
        """Its content; may be empty, whatever the length."""

@final
class Ctx:
    """What the simulator provides to a discipline during one call.

    >>> class Lossy(sg.Aqm):  # Drops a hundredth of all packets, whatever the queue
    ...     def __init__(self):
    ...         self.queue = sg.PacketQueue()
    ...
    ...     def enqueue(self, packet, ctx):
    ...         if ctx.random() < 0.01:
    ...             ctx.drop(packet, "early")
    ...         else:
    ...             self.queue.append(packet)
    ...
    ...     def dequeue(self, ctx):
    ...         return self.queue.pop()
    >>> run = sg.run("unresponsive", queue=Lossy, duration="10 s", warmup="0 s")
    >>> run.links["drops_early"].item() > 0
    True
    """

    @property
    def now_ns(self) -> int:
        """The simulated time in nanoseconds since the start of the run."""
    @property
    def rate_bps(self) -> int:
        """The link's rate in bit/s. A change of the settings changes it, the rate of a trace does not."""
    @property
    def packets(self) -> int:
        """How many packets are queued, without the arriving one."""
    @property
    def bytes(self) -> int:
        """How many bytes are queued, without the arriving packet."""
    def random(self) -> float:
        """Uniform on [0, 1), from the discipline's own random stream."""
    def below(self, n: int) -> int:
        """Uniform on 0, 1, …, n − 1, from the same stream. Raises ValueError for 0."""
    def pow(self, x: float, y: float) -> float:
        """x to the power y, with the same bits on every machine, unlike `**` and `math`."""
    def drop(self, packet: Packet, reason: str) -> None:
        """Drop a packet, the arriving one or any that is queued. Reasons: docs/reference/results-columns.md, drops_*.

        Raises ValueError for an unknown reason, `ConservationError` for a packet that is not in this queue.
        """

class RawRun(TypedDict):
    """What a run gives: `summary` as JSON, and of each table its columns as (name, dtype, payload)."""

    summary: str
    tables: dict[str, list[tuple[str, str, bytes | tuple[list[str], bytes]]]]

Columns = list[tuple[str, str, bytes | tuple[list[str], bytes]]]

class CaptureState(TypedDict):
    """How far a capture has been read: bytes, packets; its damage, offset and words; whether times are as recorded."""

    bytes: int
    packets: int
    damage: tuple[int, str] | None
    times_kept: bool

@final
class CaptureTable:
    """A capture that is read in batches. Raises `ScenarioError` when it is none, or its times leap."""

    def __new__(cls, path: str, on_jump: str, flows: int) -> CaptureTable: ...
    def next(self, most: int) -> Columns:
        """The columns of the next packets; without rows at the end. A missing number is -1."""
    def flows(self, but: int = 0, most: int = ...) -> Columns:
        """The columns of the connections so far, without so many that came first, and of the others so many at most."""
    def about(self) -> CaptureState:
        """How far it has been read."""

@final
class Scenario:
    """A scenario that has been read, with overrides on top; `name` stands for the file in messages.

    Reading raises `ScenarioError`.
    """

    def __new__(cls, text: str, name: str, sets: Sequence[tuple[str, str]]) -> Scenario: ...
    @property
    def name(self) -> str: ...
    @property
    def unused(self) -> list[tuple[str, str, str]]:
        """What it says of a queue that does nothing: place and key, the discipline, the nearest key."""
    def resolved(self) -> dict[str, Any]:
        """The scenario with every default filled in; each call gives another dictionary."""
    def try_making(self, make: Maker) -> None:
        """Make what is written in Python, to see that it can be made. Raises `ScenarioError`, and what that raises."""

@final
class Simulation:
    """A run that Python drives. Its methods raise RuntimeError when it has ended, or is at work in another thread."""

    def __new__(cls, scenario: Scenario, make: Maker | None = None) -> Simulation: ...
    def advance(self, until_ns: int, progress: Callable[[float, float, int], object] | None = None) -> None:
        """Run up to and including a time, or the end."""
    def set(self, key: str, value: str) -> None:
        """Make a change now, as an override says it. Raises `ScenarioError`; then nothing has changed."""
    def results(self) -> RawRun:
        """What was measured so far."""
    def finish(self) -> RawRun:
        """End the run where it is."""
    def close(self) -> None:
        """Give up what it holds."""
    def changes(self) -> str:
        """What has been changed, and what the scenario has for later, as JSON: time, key, value as they were given."""
    def clock(self) -> tuple[int, int, int]:
        """The simulated time and the length of the run in nanoseconds, and events so far."""

def version() -> str: ...
def commit() -> str: ...
def declarations() -> str: ...
def nearest(given: str, known: Sequence[str]) -> str | None: ...
def pi_gains(n: float, r: float, c: float, w: float) -> tuple[float, float]: ...
def fair_share_gains(gain: float, effect: float) -> tuple[float, float]: ...
def afd_samples(rate: int, packet: int) -> int: ...
def bpf_names() -> list[str]: ...
def bpf_parameters(
    name: str,
    values: dict[str, object],
    rate: int,
    packet: int,
    framing: tuple[int, int, str],
    generation: int,
) -> tuple[bytes, list[tuple[str, int, int]]]:
    """A discipline's parameters as its BPF program reads them, and its numbers: name in C, bits, binary places.

    Raises ValueError with what the program cannot do.
    """

def bpf_object(name: str, id: str, parameters: bytes) -> bytes:
    """Its object with these parameters and this name in tc. Raises ValueError."""

def vectors(path: str, format: str | None = None) -> tuple[str, str | None]:
    """What is in a file of connection vectors, as JSON, and its text in a format, "original" or "alternate".

    Without a format the text is None. Raises `ScenarioError` with file and line.
    """

def unused_in_replay(sets: Sequence[tuple[str, str]]) -> list[tuple[str, str, str]]:
    """What `Scenario.unused` says, of the overrides of a replay."""

def run(
    scenario: Scenario,
    progress: Callable[[float, float, int], object] | None = None,
    make: Maker | None = None,
    pcap: Sequence[tuple[str, str]] = (),
) -> RawRun: ...
def replay(
    path: str,
    sets: Sequence[tuple[str, str]],
    write: str | None,
    progress: Callable[[int, int], object] | None,
    make: Maker | None = None,
) -> RawRun: ...
def shell(
    text: str,
    name: str,
    sets: Sequence[tuple[str, str]],
    up_sets: Sequence[tuple[str, str]],
    options: str,
    told: Callable[[str], object] | None = None,
    make: Maker | None = None,
) -> RawRun:
    """Run a command behind a link; see `live.shell`. On Linux only: elsewhere there is no such function."""

def testbed(
    scenario: Scenario,
    options: str,
    told: Callable[[str], object] | None = None,
    make: Maker | None = None,
) -> RawRun:
    """Run a scenario between real hosts; see `live.testbed`. On Linux only: elsewhere there is no such function."""

def bridge(
    text: str,
    name: str,
    sets: Sequence[tuple[str, str]],
    up_sets: Sequence[tuple[str, str]],
    options: str,
    told: Callable[[str], object] | None = None,
    make: Maker | None = None,
) -> RawRun:
    """Put a link between two interfaces; see `live.bridge`. On Linux only: elsewhere there is no such function."""
