"""What the installed command starts: loads the rest, and turns a Ctrl-C during that into the exit status for it."""

from __future__ import annotations

import os
import sys

INTERRUPTED = 130


def main() -> None:
    """Run the command line in a process of its own, and end that."""
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


if __name__ == "__main__":
    main()
