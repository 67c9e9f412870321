"""A worker of this machine: plays the points that come over its one socket. It ends when its client does."""

from __future__ import annotations

import logging
import os
import pickle
import select
import socket
import threading
import traceback

from astra_ns3.errors import BackendError
from astra_ns3.experiments.servers.messages import Ready, receive, send
from astra_ns3.experiments.servers.pool import ServerPool
from astra_ns3.frozen import dataclass
from astra_ns3.studies.code_version import code_version
from astra_ns3.studies.task import UnfitWorker
from astra_ns3.studies.workers.contract import Crew


@dataclass(frozen=True)
class NotPlayed:
    """Why the point that came last has no outcome, or, before any has come, why none will be played."""

    error: Exception


def main(connection_file: int) -> None:
    """Serve the client at the other end of the socket ``connection_file``; never returns."""
    status = 0
    connection = socket.socket(fileno=connection_file)
    threading.Thread(target=_end_with, args=(connection.fileno(),), daemon=True).start()
    try:
        _serve(connection)
    except ConnectionError:
        pass  # the client has ended
    except BaseException:
        os.write(2, traceback.format_exc().encode("utf-8", "replace"))
        status = 1
    finally:
        os._exit(status)  # what counts is in the store; the servers end when their sockets close


def _end_with(connection: int) -> None:
    """End this process as soon as the other end closes: whoever does that wants nothing of what is played here."""
    waiting = select.poll()
    waiting.register(connection, select.POLLRDHUP)
    waiting.poll()
    os._exit(0)


def _serve(connection: socket.socket) -> None:
    crew, _ = receive(connection)
    assert isinstance(crew, Crew)
    pool = ServerPool()
    pool.start(crew.kind)  # it warms itself up while this process loads what follows points
    from astra_ns3.studies.play_point import play_point

    # What a run warns of stands in its run.json; a worker's standard error is nobody's.
    logging.getLogger("astra_ns3").addHandler(logging.NullHandler())
    logging.getLogger("astra_ns3").propagate = False
    if code_version() != crew.code:
        send(connection, NotPlayed(UnfitWorker("astra-ns3 was changed while the study was played: play it again")))
    send(connection, Ready())
    while True:
        task, _ = receive(connection)
        try:
            send(connection, play_point(task, pool))
        except ConnectionError:
            raise
        except Exception as error:
            send(connection, NotPlayed(_sendable(error)))


def _sendable(error: Exception) -> Exception:
    """``error``, or what it says where it can't be sent."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return BackendError(f"a worker could not play it: {type(error).__name__}: {error}")
    return error
