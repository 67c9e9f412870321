"""A process of this program that another one has started, with one socket between them.

The socket is one end of a pair: it has no name and no address, so nobody else can reach it.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Mapping
from contextlib import suppress

from astra_ns3.python_command import python_command

_LAST_WORDS_BYTES = 2000


class HelperProcess:
    """A process that runs ``main(file)`` of a module, ``file`` being its end of the socket; until :meth:`close`."""

    def __init__(self, module: str, environment: Mapping[str, str] | None = None) -> None:
        """Start it; ``environment``: variables it gets besides this process's. Raises OSError."""
        self._said = os.memfd_create("astra-ns3-stderr")
        self.connection, theirs = socket.socketpair()
        try:
            self._process = subprocess.Popen(
                python_command(f"from {module} import main; main(int(sys.argv[1]))", str(theirs.fileno())),
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._said,
                env={**os.environ, **(environment or {})},
                start_new_session=True,  # Ctrl-C is the client's affair
            )
        except OSError:
            self.connection.close()
            os.close(self._said)
            raise
        finally:
            theirs.close()

    @property
    def pid(self) -> int:
        """Its number."""
        return self._process.pid

    @property
    def runs(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def status(self, seconds: float | None = None) -> int:
        """Wait for its end; as ``subprocess.Popen.returncode``. Raises subprocess.TimeoutExpired after ``seconds``."""
        return self._process.wait(seconds)

    def last_words(self) -> str:
        """Wait for its end; the last line it said, and how it ended."""
        status = self._process.wait()
        size = os.fstat(self._said).st_size
        said = os.pread(self._said, _LAST_WORDS_BYTES, max(0, size - _LAST_WORDS_BYTES)).decode("utf-8", "replace")
        lines = [line.strip() for line in said.splitlines() if line.strip()]
        ended = f"signal {signal.Signals(-status).name}" if status < 0 else f"status {status}"
        return f"{lines[-1]} ({ended})" if lines else f"it ended with {ended}"

    def kill(self) -> None:
        """End it at once. May be called from any thread."""
        with suppress(ProcessLookupError):
            self._process.kill()

    def close(self) -> None:
        """End it, and wait until it has."""
        self.connection.close()
        self.kill()
        self._process.wait()
        with suppress(OSError):
            os.close(self._said)
