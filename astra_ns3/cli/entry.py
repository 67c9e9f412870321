"""What the installed command starts: loads the rest, and turns a Ctrl-C during that into the exit status for it."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

INTERRUPTED = 130


def main() -> None:
    """Run the command line in a process of its own, and end that."""
    # Batch systems end a job with SIGTERM; what it has done so far is saved then too.
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        from astra_ns3.cli.main import status_of

        status = status_of(sys.argv[1:], process_ends=True)
    except KeyboardInterrupt:
        print("astra-ns3: error: interrupted", file=sys.stderr)
        status = INTERRUPTED
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        pass  # the reader has gone, as with `| head`
    # Everything is written; taking the simulation apart object by object would only make the user wait.
    os._exit(status)


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    main()
