"""The channel between a run's child and its parent: Python objects in frames over a socket."""

from __future__ import annotations

import os
import pickle
import socket
import struct
import threading
from pathlib import Path
from typing import Any

from astra_ns3.errors import AstraNs3Error
from astra_ns3.experiments.description import Description
from astra_ns3.experiments.isolated.snapshot import Snapshot
from astra_ns3.experiments.play import Played
from astra_ns3.experiments.progress import Progress
from astra_ns3.frozen import dataclass
from astra_ns3.network.recorded import Columns, RecordedTable

_LENGTH = struct.Struct("!Q")
_READ_BYTES = 1 << 20


@dataclass(frozen=True)
class Stage:
    """The child begins a part of the set-up."""

    name: str


@dataclass(frozen=True)
class Described:
    """The inputs of each tenant are known good; the parent says next where rows go."""

    tenants: tuple[Description, ...]


@dataclass(frozen=True)
class Begun:
    """All is set up; the first event comes next."""

    setup_seconds: float
    start_bytes: int


@dataclass(frozen=True)
class Finishing:
    """The last event was played, for whatever reason; the results follow."""


@dataclass(frozen=True)
class Rows:
    """Rows of a table, by column."""

    table: str
    columns: Columns


@dataclass(frozen=True)
class NewLabel:
    """A text that stands for a number in a column of a table."""

    table: str
    column: str
    number: int
    text: str


@dataclass(frozen=True)
class FileFailed:
    """A file that the child writes itself could not be written whole."""

    file: str
    reason: str


@dataclass(frozen=True)
class CloseTables:
    """No more rows will come."""


ForTables = RecordedTable | Rows | NewLabel | FileFailed | CloseTables
"""A word about recorded tables; a table itself announces its rows."""


@dataclass(frozen=True)
class Log:
    """A message for the log."""

    logger: str
    level: int
    message: str


@dataclass(frozen=True)
class Printed:
    """A text that Python code printed, such as a hook's."""

    stream: str
    text: str


@dataclass(frozen=True)
class Done:
    """The run came to its end, or was stopped on its way."""

    played: Played


@dataclass(frozen=True)
class Results:
    """All of the run but what the hook's end function returns, which is called next."""

    played: Played


@dataclass(frozen=True)
class Failed:
    """The run could not begin."""

    error: AstraNs3Error
    trace: str


@dataclass(frozen=True)
class Raised:
    """Something raised what is no error of ours; ``error``: it, pickled, for it may be of a kind nobody else knows."""

    error: bytes
    summary: str
    trace: str


Message = (
    Stage
    | Described
    | Begun
    | Progress
    | Snapshot
    | Finishing
    | RecordedTable
    | Rows
    | NewLabel
    | FileFailed
    | CloseTables
    | Log
    | Printed
    | Results
    | Done
    | Failed
    | Raised
)


@dataclass(frozen=True)
class Recorder:
    """The parent's answer to a Description: where files go (None: nowhere), and what is recorded."""

    directory: Path | None
    record: tuple[str, ...]


class Line:
    """The sending half of one end. Threads may share it; a process that is forked from its owner may not."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self._lock = threading.Lock()
        self._owner = os.getpid()

    @property
    def is_ours(self) -> bool:
        """Whether this process may send."""
        return os.getpid() == self._owner

    def send(self, message: Message | Recorder) -> None:
        """Send one message, whole; raises what pickle raises, before anything is sent."""
        body = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
        if not self.is_ours:
            return
        with self._lock:
            self.connection.sendall(_LENGTH.pack(len(body)))
            self.connection.sendall(body)


class Inbox:
    """Puts frames together from what a socket gives."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._buffer = bytearray()
        self.ended = False
        """Whether the other end has closed."""

    def fetch(self) -> list[Any]:  # whatever the other end has sent
        """Read what is there, waiting only if there is nothing at all; the messages that are whole now."""
        try:
            data = self._connection.recv(_READ_BYTES)
        except (BlockingIOError, InterruptedError):
            return []
        except ConnectionError:
            data = b""
        self.ended = not data
        self._buffer += data
        messages = []
        start = 0
        while len(self._buffer) - start >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._buffer, start)
            end = start + _LENGTH.size + length
            if len(self._buffer) < end:
                break
            messages.append(pickle.loads(memoryview(self._buffer)[start + _LENGTH.size : end]))
            start = end
        del self._buffer[:start]
        return messages

    def receive(self) -> Any:  # whatever the other end has sent
        """Wait for one message; raises ConnectionError if the other end closes."""
        while not self.ended:
            messages = self.fetch()
            if messages:
                return messages[0]
        raise ConnectionError("the other end has closed")
