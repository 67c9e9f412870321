"""The functions that a session calls back in Python."""

from __future__ import annotations

import ctypes
from typing import Protocol

from astra_ns3.network.door.library import Native, load

_PhaseDone = ctypes.CFUNCTYPE(None, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int64)
_TimerDue = ctypes.CFUNCTYPE(None, ctypes.c_uint64, ctypes.c_int64)
_SeveralDue = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int64)
_Heartbeat = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_uint64)
_RecordsReady = ctypes.CFUNCTYPE(None, ctypes.c_uint32)


class SessionReceiver(Protocol):
    """Who hears of what happens in a session, and raises nothing; see ``SessionListener`` in C++."""

    def phase_done(self, npu: int, instance: int, time_ps: int) -> None:
        """An NPU has finished its part of a phase."""

    def timer_due(self, token: int, time_ps: int) -> None:
        """A timer is due."""

    def several_due(self, address: int, count: int, time_ps: int) -> None:
        """Several of the two at one moment, in their order; read them with :func:`dues_at`."""

    def heartbeat(self, time_ps: int, events: int) -> None:
        """About 100 ms of wall time have passed."""

    def records_ready(self, table: int) -> None:
        """The session has rows to fetch."""


# 64-bit words of a ``Due`` in C++: its number; the NPU, and from this bit on whether it is a timer.
_WORDS = 2
_TIMER_BIT = 32


def dues_at(address: int, count: int) -> tuple[list[int], list[int]]:
    """The subjects of ``several_due``: the number of each, an instance or a token, and its NPU, -1 for a
    timer."""
    words = (ctypes.c_uint64 * (_WORDS * count)).from_address(address)[:]
    return words[::_WORDS], [-1 if word >> _TIMER_BIT else word for word in words[1::_WORDS]]


class Listener:
    """A native listener that passes each call on to ``receiver``; keep it as long as the session.

    It calls plain functions: to derive a Python class from a C++ one takes tenths of a second in each process.
    """

    def __init__(self, receiver: SessionReceiver) -> None:
        self._functions = (
            _PhaseDone(receiver.phase_done),
            _TimerDue(receiver.timer_due),
            _SeveralDue(receiver.several_due),
            _Heartbeat(receiver.heartbeat),
            _RecordsReady(receiver.records_ready),
        )
        addresses = (ctypes.cast(function, ctypes.c_void_p).value for function in self._functions)
        self.native: Native = load().CallbackListener(*addresses)
