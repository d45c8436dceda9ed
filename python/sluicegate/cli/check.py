"""The command `check`."""

from __future__ import annotations

import json

from .common import Envelopes, File, Json, Set, answers, app, parse_sets


@app.command(short_help="Check a scenario without simulating it.")
@answers
def check(file: File, sets: Set = None, envelopes: Envelopes = None, as_json: Json = False) -> None:
    """Check a scenario without simulating it; --json prints it with every default filled in."""
    from .. import scenario

    resolved = scenario.check(file, sets=parse_sets(sets), envelopes=envelopes)
    print(json.dumps(resolved, indent=2, ensure_ascii=False) if as_json else f"{file}: ok")
