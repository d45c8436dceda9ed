"""The program: `sluicegate`, or `python -m sluicegate`. It handles Ctrl-C while the rest is imported."""

from __future__ import annotations

import gc
import os
import sys


def main() -> None:
    """Run the command line. Exit code 130 when it is interrupted."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # no matrix is large: its threads wait for work all the time
    gc.set_threshold(50_000)  # looking through what was imported again and again takes a tenth of the time of a drawing
    try:
        from .cli import main as command_line

        gc.freeze()  # or Python looks through all that was imported three times more before it ends
        command_line()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
