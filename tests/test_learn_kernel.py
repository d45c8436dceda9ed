"""The kernel's TCP over an emulated line, captured by tcpdump at both ends and learnt back."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from test_shell_packets import WHY_NOT as NO_REAL_PACKETS

TOOLS = Path(__file__).parents[1] / "tools"
LACKING = ", ".join(name for name in ("iperf3", "tcpdump", "ip") if shutil.which(name) is None)
WHY_NOT = NO_REAL_PACKETS or (LACKING and f"{LACKING} not installed") or ("needs root" if os.geteuid() else "")


@pytest.mark.full
@pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)
@pytest.mark.parametrize("discipline", ["drop_tail:limit=50", "codel", "fq_codel", "cake"])
def test_a_line_with_the_kernels_tcp_is_learnt_back(
    discipline: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a machine with other work packets are late: bounds are ten times what it shows without."""
    monkeypatch.setattr(sys, "path", [str(TOOLS), *sys.path])
    from learn_kernel import learnt_back

    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o777)  # tcpdump writes as a user of its own
    row = learnt_back(20, discipline, tmp_path)
    assert row.rate_error == pytest.approx(0, abs=0.02)
    assert row.told == discipline.partition(":")[0]
    assert row.least_rtt_ms == pytest.approx(20, abs=1)
    if discipline.startswith("drop_tail"):
        assert row.full == pytest.approx(50, rel=0.1)
