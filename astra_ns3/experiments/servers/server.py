"""The server's side: warms itself up, then forks a child for each point it is asked for, one at a time.

It ends when its worker does: whatever that ends of closes the other end of the one socket it has.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import socket
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from astra_ns3.experiments.isolated.launching import ChildEnds, forked
from astra_ns3.experiments.isolated.process import ChildProcess
from astra_ns3.experiments.isolated.warming import warm_up
from astra_ns3.experiments.servers.messages import Ended, NotStarted, Play, Ready, ServerKind, Started, receive, send

IDLE_SECONDS = 900.0
"""A server that nobody has asked for so long ends: its worker may be one that a killed study has left on a cluster."""
# How often a child is looked at where the kernel can't tell of its end.
_LOOK_SECONDS = 0.1


def main(connection_file: int) -> None:
    """Serve the worker at the other end of the socket ``connection_file``; never returns."""
    status = 0
    try:
        _serve(socket.socket(fileno=connection_file))
    except ConnectionError:
        pass  # the worker has ended
    except BaseException:
        os.write(2, traceback.format_exc().encode("utf-8", "replace"))
        status = 1
    finally:
        # Nothing is left to be saved, and taking ns-3 down in order takes long.
        os._exit(status)


def _serve(connection: socket.socket) -> None:
    kind, _ = receive(connection)
    assert isinstance(kind, ServerKind)
    with _ending_with(connection):
        warm_up(hooks=kind.hooks, controls=[name for name, _ in kind.controls])
    send(connection, Ready())
    while _readable(connection.fileno(), IDLE_SECONDS):
        _play(connection)


@contextmanager
def _ending_with(connection: socket.socket) -> Iterator[None]:
    """While nothing else may come, have the kernel end this process when the other end closes.

    Warming up is long calls of native code, in which nobody can look.
    """
    flags = fcntl.fcntl(connection, fcntl.F_GETFL)
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    fcntl.fcntl(connection, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(connection, fcntl.F_SETFL, flags | os.O_ASYNC)
    try:
        if _readable(connection.fileno(), 0):
            raise ConnectionError("the worker has ended")
        yield
    finally:
        fcntl.fcntl(connection, fcntl.F_SETFL, flags)
        fcntl.fcntl(connection, fcntl.F_SETOWN, 0)


def _readable(file: int, seconds: float) -> bool:
    waiting = select.poll()
    waiting.register(file, select.POLLIN)
    return bool(waiting.poll(seconds * 1000))


def _play(connection: socket.socket) -> None:
    files: list[int] = []
    try:
        try:
            asked, files = receive(connection)
            assert isinstance(asked, Play)
            child = _fork(asked, files, connection)
        except ConnectionError:
            raise
        except Exception as error:  # a request that can't be read here, or no memory for a process
            passing = isinstance(error, OSError | MemoryError)
            send(connection, NotStarted(f"{type(error).__name__}: {error}", passing))
            return
    finally:
        for file in files:
            os.close(file)
    send(connection, Started(child.pid), [] if child.file is None else [child.file])
    _wait_for(child, connection)
    status = child.wait()
    send(connection, Ended(status, child.usage))


def _fork(asked: Play, files: list[int], connection: socket.socket) -> ChildProcess:
    line, errors, clock = files

    def leave() -> None:
        """In the child: leave the server behind. An error must not play on as a second server."""
        try:
            connection.close()
            if asked.surroundings is not None:
                asked.surroundings.take_over()
        except BaseException as error:
            os.write(errors, f"{type(error).__name__}: {error}\n".encode())
            os._exit(1)

    with socket.socket(fileno=os.dup(line)) as theirs:
        child = forked(asked.request, asked.watch)(ChildEnds(theirs, errors, clock, leave))
    assert isinstance(child, ChildProcess)
    return child


def _wait_for(child: ChildProcess, connection: socket.socket) -> None:
    """Wait for the child's end; raises ConnectionError, the child killed, if the worker's comes first."""
    waiting = select.poll()
    waiting.register(connection, select.POLLIN)
    if child.file is not None:
        waiting.register(child.file, select.POLLIN)
    while not child.is_dead():
        ready = waiting.poll(None if child.file is not None else _LOOK_SECONDS * 1000)
        if any(file == connection.fileno() for file, _ in ready):
            child.send(signal.SIGKILL)
            child.wait()
            raise ConnectionError("the worker has ended")
