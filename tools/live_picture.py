"""Take a screenshot of the live page for the README, with the office of the manual under RED: docs/images/live.png.

Needs the page (`make web`) and Chromium. Fonts differ between machines, so no test compares the picture.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from browser import visiting  # noqa: E402

from sluicegate.live.served import fragment  # noqa: E402

PAGE = ROOT / "out/web/sluicegate.html"
READY = "document.documentElement.dataset.ready"
SETTINGS = {"queue.discipline": "red", "queue.red.min_th": "30", "queue.red.max_th": "90"}


def main() -> None:
    """Let the run go on for six simulated seconds, and take a screenshot."""
    if not PAGE.exists():
        sys.exit("the page is not built: run `make web`")
    found = re.search(
        r"A new file `office.toml`:\n\n```toml\n(.*?)```", ROOT.joinpath("docs/own-link.md").read_text("utf-8"), re.S
    )
    assert found, "docs/own-link.md has the office"
    with visiting(f"{PAGE.as_uri()}#{fragment(found[1], SETTINGS)}", 120, READY, size=(1300, 930)) as browser:
        browser.evaluate("sluicegate.play(true, 1)")
        browser.wait_until("sluicegate.now() >= 6")
        browser.evaluate("sluicegate.play(false, 1)")
        browser.screenshot(ROOT / "docs/images/live.png")


if __name__ == "__main__":
    main()
