"""What a session calls back in Python."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Protocol

from astra_ns3.network.door.library import load


class SessionReceiver(Protocol):
    """Who hears of what happens in a session; see ``SessionListener`` in ``astra-ns3-session.h``."""

    def phase_done(self, npu: int, instance: int, time_ps: int) -> None:
        """An NPU has finished its part of a phase."""

    def timer_due(self, token: int, time_ps: int) -> None:
        """A timer is due."""

    def heartbeat(self, time_ps: int, events: int) -> None:
        """About 100 ms of wall time have passed."""

    def records_ready(self, table: int) -> None:
        """The session has rows to fetch."""


def make_listener(receiver: SessionReceiver) -> Any:
    """An object that C++ can call, which passes each call on; keep it as long as the session."""
    return _listener_class()(receiver)


@lru_cache(maxsize=1)
def _listener_class() -> type:
    namespace = load()

    class Listener(namespace.SessionListener):  # type: ignore[misc, name-defined]
        """Receives the callbacks of a session."""

        def __init__(self, receiver: SessionReceiver) -> None:
            super().__init__()
            self._phase_done = receiver.phase_done
            self._timer_due = receiver.timer_due
            self._heartbeat = receiver.heartbeat
            self._records_ready = receiver.records_ready

        def PhaseDone(self, npu: int, instance: int, time_ps: int) -> None:  # noqa: N802
            self._phase_done(npu, instance, time_ps)

        def TimerDue(self, token: int, time_ps: int) -> None:  # noqa: N802
            self._timer_due(token, time_ps)

        def Heartbeat(self, time_ps: int, events: int) -> None:  # noqa: N802
            self._heartbeat(time_ps, events)

        def RecordsReady(self, table: int) -> None:  # noqa: N802
            self._records_ready(table)

    return Listener
