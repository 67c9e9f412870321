"""The messages of a worker and its server: Python objects over a socket, with open files beside them."""

from __future__ import annotations

import os
import pickle
import resource
import socket
import struct
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from astra_ns3.errors import BackendError
from astra_ns3.experiments.request import RunRequest
from astra_ns3.experiments.watch import Watch
from astra_ns3.frozen import dataclass

_LENGTH = struct.Struct("!Q")
_MOST_FILES = 3


class Unplayed(BackendError):
    """A point was cut off by something that has nothing to do with it: a batch system's signal, a full disk."""


@dataclass(frozen=True)
class ServerKind:
    """The modules that a server has loaded beyond ns-3 itself: what differs lets children of one kind begin at once."""

    hooks: bool = False
    """ns-3's headers, for hooks."""
    controls: tuple[tuple[str, str], ...] = ()
    """Congestion controls in C++, ``FILE.hpp:Class``, each with the SHA-256 of its file."""


@dataclass(frozen=True)
class Ready:
    """The server is warm."""


@dataclass(frozen=True)
class Surroundings:
    """The state that a run takes over from the process that asks for it, as if it were forked there."""

    folder: str
    mask: int | None
    """The mask of new files' permissions; None: not known."""
    modules: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]

    @classmethod
    def here(cls) -> Surroundings:
        """Return those of this process."""
        return cls(str(Path.cwd()), _mask(), tuple(sys.path), tuple(os.environ.items()))

    def take_over(self) -> None:
        """Make them those of this process; raises OSError if the folder is gone."""
        os.chdir(self.folder)
        if self.mask is not None:
            os.umask(self.mask)
        sys.path[:] = self.modules
        os.environ.clear()
        os.environ.update(self.environment)


def _mask() -> int | None:
    """Not by ``os.umask``, which can only tell by changing it, for all threads."""
    with suppress(OSError, ValueError):
        for line in Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("Umask:"):
                return int(line.split()[1], 8)
    return None


@dataclass(frozen=True)
class Play:
    """Fork a child that plays a request; with it come its socket, its standard error and its clock.

    ``surroundings``: what the child takes over first; None: the server's own.
    """

    request: RunRequest
    watch: Watch
    surroundings: Surroundings | None = None


@dataclass(frozen=True)
class Started:
    """The child is there; with it comes a pidfd, if the kernel has such a thing."""

    pid: int


@dataclass(frozen=True)
class NotStarted:
    """No child could be made."""

    reason: str
    passing: bool = False
    """It was the machine's doing: no memory, or no room for another process."""


@dataclass(frozen=True)
class Ended:
    """The child has ended. ``status``: as of ``waitpid``."""

    status: int | None
    usage: resource.struct_rusage | None


def send(connection: socket.socket, message: object, files: Sequence[int] = ()) -> None:
    """Send a message and copies of open files; raises what pickle raises, before anything is sent."""
    body = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    socket.send_fds(connection, [_LENGTH.pack(len(body))], list(files))
    connection.sendall(body)


def receive(connection: socket.socket) -> tuple[Any, list[int]]:  # whatever the other end pickled
    """Wait for a message and its files; raises ConnectionError if the other end has closed, and what pickle raises."""
    try:
        head, files, _, _ = socket.recv_fds(connection, _LENGTH.size, _MOST_FILES, socket.MSG_CMSG_CLOEXEC)
    except ConnectionError:
        head, files = b"", []
    try:
        head += _exactly(connection, _LENGTH.size - len(head)) if head else b""
        if not head:
            raise ConnectionError("the other end has closed")
        return pickle.loads(_exactly(connection, *_LENGTH.unpack(head))), files
    except BaseException:
        for file in files:
            os.close(file)
        raise


def _exactly(connection: socket.socket, count: int) -> bytes:
    data = bytearray()
    while len(data) < count:
        part = connection.recv(count - len(data))
        if not part:
            raise ConnectionError("the other end has closed in the middle of a message")
        data += part
    return bytes(data)
