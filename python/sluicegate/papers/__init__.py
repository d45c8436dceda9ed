"""Papers, each a package: its `PAPER`, and modules with its figures, written in the terms of `sluicegate.reproduce`."""

from __future__ import annotations

PAPERS = ("red1993", "choke1999", "choke2004", "dcn2004", "disciplines")
"""What can be reproduced. `disciplines` compares, across papers."""
