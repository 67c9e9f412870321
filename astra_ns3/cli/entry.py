"""The start of the installed command: sees to signals from its first line on, and loads the rest."""

from __future__ import annotations

import gc
import os
import sys

from astra_ns3.cli.signals import end_at_signals


def main() -> None:
    """Run the command line in a process of its own, and end that."""
    _open_closed_streams()
    end_at_signals()
    gc.disable()  # until the command is loaded: what modules make stays, so a search for garbage among it is in vain
    from astra_ns3.cli.main import status_of

    status = status_of(sys.argv[1:])
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        pass  # the reader has gone, as with `| head`, or the disk is full, which was told
    # Everything is written; taking Python apart object by object would only make the user wait.
    os._exit(status)


def _open_closed_streams() -> None:
    """Lead closed standard streams nowhere: a file or a socket would take their numbers, and be written to."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "r" if number == 0 else "w", closefd=False))


if __name__ == "__main__":
    main()
