"""Both directions of an access line: the pair of shapers, and the files in which routers have them."""

from __future__ import annotations

import copy
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import Program
from deploying import sent

import sluicegate as sg
from sluicegate.deploy import Access, Undeployable, access, formats, linux

NETWORKD = Path("/usr/lib/systemd/systemd-networkd")
TARGET = Path(__file__).parents[1] / "target"
"""Where tools/uci.py puts its program."""


def home(queue: str = "cake", **more: str) -> dict[str, Any]:
    """The bundled cable modem, 100 Mbit/s down and 10 up, with another discipline."""
    return sg.check("cable", sets={"queue.discipline": queue} | more)


def test_each_direction_has_its_rate_where_its_packets_leave() -> None:
    done = access.lines(home(), Access(wan="wan0"))
    up, down = done.parts
    assert up.title == (
        "upload: 9500 kbit/s with headers and framing, 95 % of the line's 10 Mbit/s; a speed test will "
        "show about 9.06 Mbit/s; leaves by wan0"
    ), "1448 of 1518 bytes are data"
    [line] = up.lines
    assert line.startswith("tc qdisc add dev wan0 root handle 10: cake bandwidth 9500kbit ")
    assert line.endswith(" overhead 18 mpu 64 egress"), "the framing of DOCSIS"
    assert " nat " in line, "hosts are told by the addresses behind this router"
    *_, redirected, shaped = down.lines
    assert redirected.startswith("tc filter add dev wan0 parent ffff: ")
    assert redirected.endswith(" redirect dev ifb4wan0")
    assert shaped.startswith("tc qdisc add dev ifb4wan0 root handle 10: cake bandwidth 95Mbit ")
    assert shaped.endswith(" ingress")
    assert done.lines == [*up.lines, *down.lines]
    assert not set(up.remarks) & set(down.remarks), "each once"


def test_the_home_s_interface_takes_the_place_of_the_ifb_device() -> None:
    _, down = access.lines(home("fq_codel"), Access(wan="wan0", lan="br0", margin=0.1)).parts
    assert [line.split()[4] for line in down.lines] == ["br0"] * 3
    assert " rate 90Mbit " in down.lines[1]
    _, down = access.lines(home(), Access(wan="wan0", lan="br0")).parts
    assert " nonat " in down.lines[0], "addresses inside are not translated"


def test_each_direction_may_have_a_margin_of_its_own(sluicegate: Program) -> None:
    asked = ["tc", "cable", "--set", "queue.discipline=cake", "--wan", "wan0", "--margin", "2 %,0.5 %"]
    said = sluicegate(*asked).stdout
    assert re.findall(r" cake bandwidth (\S+)", said) == ["9950kbit", "98Mbit"]
    with pytest.raises(Undeployable, match="margin_up: also state margin"):
        Access(wan="wan0", margin_up=0.1)


def test_values_that_nobody_states_are_those_for_the_link(sluicegate: Program, tmp_path: Path) -> None:
    (tmp_path / "sat.toml").write_text(sg.access_line(down="20 Mbit/s", up="3 Mbit/s", access="satellite"))
    asked = ["tc", "sat.toml", "--set", "queue.discipline=cake", "--wan", "wan0"]
    answer = sluicegate(*asked)
    assert re.findall(r" rtt (\d+ms)", answer.stdout) == ["600ms", "600ms"]
    assert "# chosen for the link: rtt = 600 ms\n" in answer.stdout
    assert "queue.rtt" not in answer.stderr
    answer = sluicegate(*asked, "--set", "queue.cake.rtt=300 ms")
    assert re.findall(r" rtt (\d+ms)", answer.stdout) == ["300ms", "300ms"]
    assert "chosen for" not in answer.stdout


def test_the_reverse_direction_may_have_a_discipline_of_its_own() -> None:
    resolved = copy.deepcopy(home())
    resolved["network"]["reverse"]["queue"] = home("fq_codel")["queue"]
    up, down = access.lines(resolved, Access(wan="wan0")).parts
    assert " fq_codel " in up.lines[-1]
    assert " cake " in down.lines[-1]


def test_tc_reads_the_lines() -> None:
    for line in access.lines(home(), Access(wan="wan0")).lines:
        if line.startswith("tc "):
            request = sent(re.sub(r"\b(ifb4)?wan0\b", "lo", line))
            assert request.kind in ("cake", "ingress", "matchall")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["unresponsive", "--wan", "a"], "an access line has two directions: state the rate of its upload"),
        (["cable", "--lan", "a"], "--lan: needs --wan, the interface to the network"),
        (["cable", "--wan", "a", "--lan", "a"], "one interface cannot be both sides"),
        (["cable", "--wan", "a", "--dev", "b"], "leave out --link and --dev"),
        (["cable", "--wan", "a", "--margin", "much"], 'must be a percentage of the rate, such as "5 %"'),
        (["cable", "--wan", "a", "--margin", "0.05"], 'must be a percentage of the rate, such as "5 %"'),
        (["cable", "--wan", "a", "--margin", "5"], 'must be a percentage of the rate, such as "5 %"'),
        (["cable", "--wan", "a", "--margin", "5 %,1 %,1 %"], 'or "1 %,5 %" for download and upload'),
        (["cable", "--wan", "a", "--margin", "5 %,much"], 'must be a percentage of the rate, such as "5 %"'),
        (["cable", "--dev", "a", "--margin", "5 %"], "--margin: needs --wan"),
        (["cable", "--wan", "a", "--cake-mq"], "an ifb device has one transmit queue: with --cake-mq name"),
        (["cable", "--wan", "a", "--margin", "100 %"], "must be at least 0 % and below 100 %"),
        (["cable", "--wan", "a", "--freebsd"], "are for Linux's own disciplines"),
        (["cable", "--wan", "a", "--format", "nixo"], 'did you mean "nixos"?'),
        (["cable", "--wan", "a", "--format", "networkd"], "name the interface to the home, --lan NAME"),
        (
            ["cable", "--dev", "a", "--link", "reverse", "--format", "openwrt"],
            "name the interface to the network, --wan",
        ),
        (
            ["cable", "--dev", "a", "--link", "reverse", "--format", "networkd", "--set", "queue.discipline=pie"],
            "the values of pie",
        ),
        (["cable", "--wan", "lo"], "lo: leads to this host alone"),
        (["cable", "--wan", "-wan"], 'here it may not begin with "-"'),
        (["cable", "--wan", "enp0s31f6-pppoe7"], "it has 16 bytes, and a name at most 15"),
        (["cable", "--wan", "9.9.9.9"], "give the interface's name"),
        (["cable", "--wan", "a'b", "--format", "openwrt"], "OpenWrt's uci quotes words with '"),
    ],
)
def test_mistakes_are_told_with_their_fix(sluicegate: Program, arguments: list[str], told: str) -> None:
    chosen = [] if "queue.discipline=pie" in arguments else ["--set", "queue.discipline=cake"]
    answer = sluicegate("tc", *arguments, *chosen)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert told in answer.stderr


def test_a_recommendation_deploys_both_directions(sluicegate: Program, tmp_path: Path) -> None:
    asked = ["--disciplines", "cake", "--seeds", "1", "--set", "run.duration=3 s", "--set", "run.warmup=1 s"]
    answer = sluicegate("recommend", "cable", *asked, "--wan", "wan0", "--margin", "5 %", "-o", tmp_path / "out")
    assert answer.returncode == 0, answer.stderr
    assert "  # upload: 9500 kbit/s" in answer.stdout
    assert "  # download: 95 Mbit/s" in answer.stdout
    assert "as are the commands" not in answer.stdout
    done = sg.Recommendation.read(tmp_path / "out")
    assert done.access == Access(wan="wan0")
    assert [part.title.partition(":")[0] for part in done.deployment("cake").parts] == ["upload", "download"]
    with pytest.raises(Undeployable, match="two directions: --wan NAME"):
        done.deployment("cake", dev="wan0")
    with pytest.raises(sg.ScenarioError, match="an access line has two directions"):
        sg.recommend("unresponsive", access=Access(wan="wan0"))


def test_a_cake_with_a_bandwidth_of_its_own_has_the_framing_of_the_link() -> None:
    [line] = linux.lines(home(**{"queue.bandwidth": "9 Mbit/s"}), "eth0", "reverse").lines
    assert " bandwidth 9Mbit " in line
    assert " overhead 18 mpu 64 " in line


def test_nat_is_what_the_scenario_says_else_what_the_place_asks_for() -> None:
    def words(nat: str | None, wan: bool) -> list[str]:
        resolved = home(**({} if nat is None else {"queue.nat": nat}))
        done = access.lines(resolved, Access(wan="wan0")) if wan else linux.lines(resolved, "eth0", "reverse")
        return [word for line in done.lines for word in line.split() if word in ("nat", "nonat")]

    assert words(None, wan=False) == ["nonat"]
    assert words("true", wan=False) == ["nat"]
    assert words(None, wan=True) == ["nat", "nat"]
    assert words("false", wan=True) == ["nonat", "nonat"]
    own = {"queue.cake": "{nat = true, ingress = true, overhead = 30}"}
    [line] = linux.lines(home(**own), "eth0", "reverse").lines
    assert " nat " in line
    assert line.endswith(" overhead 30 ingress")


def test_cake_in_each_transmit_queue() -> None:
    done = access.lines(home(), Access(wan="wan0", lan="br0", multiqueue=True))
    assert sum(" cake_mq bandwidth " in line for line in done.lines) == 2
    assert any(remark.startswith("cake_mq, a cake in each transmit queue") for remark in done.remarks)


# --- where routers are configured ------------------------------------------------------------------


def networkd_says(folder: Path, text: str) -> list[str]:
    """What systemd-networkd itself says of sections, in namespaces of its own. Skips where it cannot run."""
    if not NETWORKD.exists() or shutil.which("unshare") is None:
        pytest.skip("systemd-networkd is not installed")
    files = folder / "network"
    files.mkdir()
    for number, each in enumerate(re.split(r"^# for the \.network file .*\n", text, flags=re.MULTILINE)[1:]):
        (files / f"{number}.network").write_text(f"[Match]\nName=none{number}\n{each}", "utf-8")
    script = (
        "mount -t tmpfs t /etc/systemd/network && mount -t tmpfs t /run && mkdir -p /run/systemd/network && "
        f"cp {files}/* /run/systemd/network && SYSTEMD_LOG_TARGET=console timeout 2 {NETWORKD}; true"
    )
    done = subprocess.run(["unshare", "-m", "-n", "sh", "-c", script], capture_output=True, encoding="utf-8")
    said = done.stdout + done.stderr
    if "Enumeration completed" not in said:
        pytest.skip(f"not permitted here: {said[:200]}")
    return [line for line in said.splitlines() if ".network:" in line]


@pytest.mark.parametrize("queue", ["cake", "fq_codel", "codel", "drop_tail"])
def test_networkd_reads_its_sections(tmp_path: Path, queue: str) -> None:
    text = formats.networkd(access.lines(home(queue), Access(wan="wan0", lan="br0")))
    assert networkd_says(tmp_path, text) == []


def test_cake_estimates_the_rate_of_a_download_that_varies(tmp_path: Path) -> None:
    resolved = sg.check(sg.access_line(up="5 Mbit/s", access="lte"), sets={"queue.discipline": "cake"})
    done = access.lines(resolved, Access(wan="wan0", lan="br0"))
    assert [" autorate-ingress ingress" in line for line in done.lines] == [False, True]
    several = access.lines(resolved, Access(wan="wan0", lan="br0", multiqueue=True))
    assert not any("autorate" in line for line in several.lines), "cake_mq has none"
    text = formats.networkd(done)
    assert text.count("\nAutoRateIngress=yes\n") == 1
    assert networkd_says(tmp_path, text) == []


def test_networkd_is_asked_in_earnest(tmp_path: Path) -> None:
    text = formats.networkd(access.lines(home(), Access(wan="wan0", lan="br0")))
    wrong = text.replace("Bandwidth=95M", "Bandwidth=much").replace("NAT=yes", "Nat=yes")
    said = networkd_says(tmp_path, wrong)
    assert len(said) == 2
    assert any("Unknown key 'Nat'" in line for line in said)


def test_what_networkd_has_no_key_for_is_said() -> None:
    said = formats.networkd(access.lines(home("fq_codel"), Access(wan="wan0", lan="br0")))
    assert "# wan0: networkd has no key for: mpu 64\n" in said
    text = formats.networkd(linux.lines(home(**{"queue.rtt": "30 ms"}), "eth0", "reverse"))
    assert "\nRTTSec=30ms\n" in text
    assert "# eth0: not every networkd has RTTSec (since systemd 253)\n" in text


def test_a_module_of_nixos_has_the_same_keys() -> None:
    done = access.lines(home(), Access(wan="wan0", lan="br0"))
    text = formats.nixos(done)
    for key in re.findall(r"^(\w+=\S+)$", formats.networkd(done), re.MULTILINE):
        name, _, value = key.partition("=")
        assert f'{name} = "{value}";' in text
    assert text.count("cakeConfig = {") == 2
    assert text.count("{") == text.count("}")


def test_nix_itself_reads_the_fragment_with_the_keys_of_networkd(tmp_path: Path) -> None:
    if shutil.which("nix-instantiate") is None:
        pytest.skip("nix-instantiate is not installed (Debian: nix-bin)")
    for queue in ("cake", "fq_codel"):
        done = access.lines(home(queue), Access(wan="wan0", lan="br0"))
        module = tmp_path / "module.nix"
        module.write_text(f"{{\n{formats.nixos(done)}}}\n", "utf-8")
        asked = ["nix-instantiate", "--eval", "--strict", "--json", module]
        read = subprocess.run(asked, capture_output=True, encoding="utf-8", env={**os.environ, "HOME": str(tmp_path)})
        assert read.returncode == 0, read.stderr
        networks = json.loads(read.stdout)["systemd"]["network"]["networks"]
        expected, _ = formats.sections(done)
        found = {dev: [*each.values()] for dev, each in networks.items()}
        assert {dev: sorted(sorted(keys.items()) for keys in each) for dev, each in found.items()} == {
            dev: sorted(sorted(keys.items()) for _, keys in each) for dev, each in expected.items()
        }


def options(text: str) -> dict[str, str]:
    return dict(re.findall(r"^\toption (\w+) '(.*)'$", text, re.MULTILINE))


def test_a_section_of_openwrt_s_sqm_has_both_rates_and_all_words() -> None:
    done = access.lines(home(), Access(wan="wan0"))
    found = options(formats.openwrt(done))
    assert (found["interface"], found["upload"], found["download"]) == ("wan0", "9500", "95000")
    assert found["qdisc"] == "cake"
    [up], down = (part.lines for part in done.parts)
    assert up.endswith(f"bandwidth 9500kbit {found['eqdisc_opts']}")
    assert down[-1].endswith(f"bandwidth 95Mbit {found['iqdisc_opts']}")
    found = options(formats.openwrt(access.lines(home("fq_codel"), Access(wan="wan0"))))
    assert (found["script"], found["etarget"], found["egress_ecn"], found["tcMPU"]) == (
        "simplest.qos", "5ms", "ECN", "64",
    )  # fmt: skip
    with pytest.raises(Undeployable, match="makes an ifb device for the download itself: leave out --lan"):
        formats.openwrt(access.lines(home(), Access(wan="wan0", lan="br0")))
    with pytest.raises(Undeployable, match="no script for pie"):
        formats.openwrt(access.lines(home("pie"), Access(wan="wan0")))


@pytest.mark.parametrize("queue", ["cake", "fq_codel"])
def test_uci_itself_reads_the_section(tmp_path: Path, queue: str) -> None:
    uci = shutil.which("uci", path=f"{TARGET}{os.pathsep}{os.environ['PATH']}")
    if uci is None:
        pytest.skip("OpenWrt's uci is not installed (tools/uci.py builds it)")
    text = formats.openwrt(access.lines(home(queue), Access(wan="wan0")))
    (tmp_path / "sqm").write_text(text, "utf-8")
    read = subprocess.run([uci, "-c", tmp_path, "show", "sqm"], capture_output=True, encoding="utf-8", check=True)
    first, *rest = read.stdout.splitlines()
    assert first == "sqm.sluicegate=queue"
    assert dict(re.fullmatch(r"sqm\.sluicegate\.(\w+)='(.*)'", line).groups() for line in rest) == options(text)  # type: ignore[union-attr]


DISPATCH = """\
set -e
mount -t tmpfs t /etc && mkdir -p /etc/NetworkManager/dispatcher.d
echo root:x:0:0::/:/bin/sh > /etc/passwd && echo root:x:0: > /etc/group && cp $1 /etc/NetworkManager/dispatcher.d
cat > /etc/bus <<END
<busconfig><type>system</type><listen>unix:path=$PWD/bus</listen><auth>EXTERNAL</auth>
<policy context="default"><allow user="*"/><allow own="*"/><allow send_destination="*"/>
<allow eavesdrop="true"/></policy></busconfig>
END
ip link add br0 type veth peer name wan0
export DBUS_SYSTEM_BUS_ADDRESS=unix:path=$PWD/bus
dbus-daemon --config-file=/etc/bus --nofork --nopidfile & bus=$!
trap 'kill $bus $dispatcher' EXIT
for wait in 1 2 3 4 5 6 7 8 9; do [ -S bus ] || sleep 0.2; done
$2 --debug --persist & dispatcher=$!
gdbus wait --address $DBUS_SYSTEM_BUS_ADDRESS --timeout 10 org.freedesktop.nm_dispatcher
none='@a{sv} {}'
for time in first second; do
    gdbus call --address $DBUS_SYSTEM_BUS_ADDRESS --dest org.freedesktop.nm_dispatcher \\
        --object-path /org/freedesktop/nm_dispatcher --method org.freedesktop.nm_dispatcher.Action up \\
        "{'connection': {'uuid': <'u'>, 'id': <'i'>}}" "{'path': <objectpath '/c'>}" \\
        "{'path': <objectpath '/d'>, 'interface': <'wan0'>, 'ip-interface': <'wan0'>, 'type': <uint32 1>, \\
        'state': <uint32 100>}" "$none" "$none" "$none" "$none" "$none" full '' "$none" "$none" "$none" true
    tc qdisc show dev wan0
    tc class show dev br0
done
"""


def test_networkmanager_s_own_dispatcher_runs_the_script(tmp_path: Path) -> None:
    """In namespaces, twice: the second time takes away what the first has made."""
    places = os.pathsep.join([os.environ["PATH"], "/usr/lib/NetworkManager", "/usr/libexec"])
    dispatcher = shutil.which("nm-dispatcher", path=places)
    if lacking := [tool for tool in ("dbus-daemon", "gdbus", "unshare", "ip", "tc") if shutil.which(tool) is None]:
        pytest.skip(f"{', '.join(lacking)} not installed")
    if dispatcher is None:
        pytest.skip("nm-dispatcher is not installed (Debian: network-manager)")
    script = tmp_path / "50-sluicegate"
    lines = access.lines(home("drop_tail", **{"queue.drop_tail.limit": "20"}), Access(wan="wan0", lan="br0"))
    script.write_text(formats.networkmanager(lines), "utf-8")
    script.chmod(0o755)
    words = ["unshare", "-m", "-n", "sh", "-c", DISPATCH, "sh", script, dispatcher]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, encoding="utf-8", timeout=60)
    if "unshare" in done.stderr or "Specified qdisc kind is unknown" in done.stderr:
        pytest.skip(f"not permitted here: {done.stderr[:200]}")
    assert done.returncode == 0, done.stderr
    said = f"([('/etc/NetworkManager/dispatcher.d/{script.name}', uint32 1, '')],)"  # 1: it ran, and ended with 0
    assert done.stdout.count(said) == 2, done.stdout
    assert len(re.findall(r"^qdisc htb 1: root .* default 0x1 ", done.stdout, re.MULTILINE)) == 2
    assert len(re.findall(r"^class htb 1:1 root .* rate 95Mbit .*overhead 4 ", done.stdout, re.MULTILINE)) == 2


def pretend(folder: Path, fails: str = "never") -> None:
    """Programs `tc` and `ip` that say what they were called with, and fail if the words are like these."""
    for name in ("tc", "ip"):
        (folder / name).write_text(f'#!/bin/sh\necho {name} "$@"\ncase "$*" in {fails}) exit 2;; esac\n', "utf-8")
        (folder / name).chmod(0o755)


def test_pasted_lines_stop_at_the_first_error(sluicegate: Program, tmp_path: Path) -> None:
    """A kernel without CAKE must not have its traffic redirected into a device without a shaper."""
    pretend(tmp_path, fails="*cake*")
    short = ["--disciplines", "cake", "--seeds", "1", "--set", "run.duration=3 s", "--set", "run.warmup=1 s"]
    shown = sluicegate("recommend", "cable", *short, "--wan", "wan0", "--margin", "5 %").stdout.splitlines()
    pasted = "\n".join(line for line in shown if line.startswith("  ") and re.match("  (#|tc|ip) ", line))
    done = access.lines(home(), Access(wan="wan0"))
    for text in (done.text(), pasted, formats.networkmanager(done)):
        words = ["/bin/sh", "-s", "wan0", "up"]
        ran = subprocess.run(words, input=text, env={"PATH": str(tmp_path)}, capture_output=True, text=True)
        assert ran.returncode == 2
        assert ran.stdout.splitlines()[-1] == done.lines[0]
    pretend(tmp_path)
    ran = subprocess.run("/bin/sh", input=pasted, env={"PATH": str(tmp_path)}, capture_output=True, text=True)
    assert (ran.returncode, ran.stdout.splitlines()) == (0, done.lines)


def test_networkmanager_s_script_runs_the_lines_when_the_interface_comes_up(tmp_path: Path) -> None:
    done = access.lines(home(), Access(wan="wan0"))
    script = tmp_path / "50-sluicegate"
    script.write_text(formats.networkmanager(done), "utf-8")
    pretend(tmp_path)

    def run(*event: str) -> list[str]:
        ran = subprocess.run(["/bin/sh", script, *event], env={"PATH": str(tmp_path)}, capture_output=True, text=True)
        assert (ran.returncode, ran.stderr) == (0, "")
        return ran.stdout.splitlines()

    assert run("wan0", "up")[-len(done.lines) :] == done.lines
    assert run("wan0", "up")[: -len(done.lines)] == formats.undo(done.lines)
    assert run("wan0", "down") == run("eth5", "up") == []


def test_a_unit_of_systemd_runs_the_lines_and_takes_them_away(tmp_path: Path) -> None:
    done = access.lines(home("fq_codel"), Access(wan="wan-1"))
    text = formats.FORMATS["systemd"](done)
    assert "BindsTo=sys-subsystem-net-devices-wan\\x2d1.device\n" in text
    started = re.findall(r"^ExecStart=(.*)$", text, re.MULTILINE)
    stopped = re.findall(r"^ExecStopPost=-(.*)$", text, re.MULTILINE)
    assert started == [*(f"-{line}" for line in stopped), *done.lines], "a start takes away what was there"
    assert stopped == formats.undo(done.lines)
    if (verify := shutil.which("systemd-analyze")) is None:
        pytest.skip("systemd-analyze is not installed")
    # What it says of other units is not ours; a unit with a fault shows that it says what is wrong with this one.
    for name, content, wrong in (("right", text, False), ("wrong", text.replace("ExecStart=", "ExecBegin=", 1), True)):
        unit = tmp_path / f"{name}.service"
        unit.write_text(content, "utf-8")
        found = subprocess.run([verify, "verify", unit], capture_output=True, text=True, timeout=60)
        assert (unit.name in found.stderr) == wrong, found.stderr


def test_what_takes_lines_away_takes_all_that_they_add() -> None:
    assert formats.undo(access.lines(home("fq_codel"), Access(wan="wan0")).lines) == [
        "tc qdisc del dev ifb4wan0 root", "tc qdisc del dev wan0 ingress", "ip link del ifb4wan0",
        "tc qdisc del dev wan0 root",
    ]  # fmt: skip


def test_a_format_is_told_as_json_too(sluicegate: Program) -> None:
    asked = ["tc", "cable", "--set", "queue.discipline=cake", "--wan", "wan0", "--format", "openwrt", "--json"]
    record = json.loads(sluicegate(*asked).stdout)
    assert (record["wan"], record["lan"]) == ("wan0", "ifb4wan0")
    assert record["text"].startswith("config queue 'sluicegate'\n")


def test_the_modem_s_own_queue_on_the_router_is_told_in_words(sluicegate: Program, tmp_path: Path) -> None:
    (tmp_path / "home.toml").write_text(sg.access_line(down="40 Mbit/s", up="10 Mbit/s"))
    answer = sluicegate("tc", "home.toml", "--wan", "wan0")
    said = answer.stdout
    assert answer.stderr.startswith("warning: drop_tail serves packets as the modem does: calls still wait")
    told = "# drop_tail: first come, first served, as in the modem; packets wait here for up to 263 ms."
    assert said.count(told) == 1, "once for both directions"
    better = sluicegate("tc", "home.toml", "--set", "queue.discipline=cake", "--wan", "wan0")
    assert "first come" not in better.stdout
    assert not better.stderr


@pytest.mark.parametrize("names", [("--wan", "NAME"), ("--wan", "DEV"), ("--wan", "wan0", "--lan", "NAME")])
def test_a_placeholder_is_no_interface(sluicegate: Program, names: tuple[str, ...]) -> None:
    """The manual and other commands print --wan NAME."""
    for command in (["tc", "cable"], ["recommend", "cable"]):
        answer = sluicegate(*command, *names)
        assert (answer.returncode, answer.stdout) == (2, "")
        assert answer.stderr.startswith(
            f"error: {names[-2]} {names[-1]}: give the interface's name; on the router `ip route"
        )


def test_the_remark_that_undoes_both_directions_can_be_pasted(sluicegate: Program) -> None:
    said = sluicegate("tc", "cable", "--set", "queue.discipline=cake", "--wan", "wan0").stdout.splitlines()[-1]
    commands = said.removeprefix("# to undo all of it: ").split("; ")
    assert commands[0] == "tc qdisc del dev ifb4wan0 root"
    assert len(commands) == 4
    assert all(command.split()[0] in ("tc", "ip") for command in commands)
