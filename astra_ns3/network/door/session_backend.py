"""A backend on a native session: what the packet-level and the analytical backends share, all but their network."""

from __future__ import annotations

import itertools
import logging
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path
from types import FrameType

import numpy as np
import numpy.typing as npt

from astra_ns3.collectives.schedule import COLUMNS, Schedule
from astra_ns3.config.network.packet_network import Observe
from astra_ns3.errors import AstraNs3Error, BackendError, LimitReached
from astra_ns3.network.api import Limits, NetworkListener, PendingMessage
from astra_ns3.network.backends import Ideal
from astra_ns3.network.channel import ChannelCosts
from astra_ns3.network.door.counters import lost_to_failures, port_counters, totals
from astra_ns3.network.door.description import Description
from astra_ns3.network.door.flow_player import SessionFlowPlayer
from astra_ns3.network.door.hook import HookContext
from astra_ns3.network.door.hooking import load_namespace
from astra_ns3.network.door.library import load
from astra_ns3.network.door.listener import Listener, dues_at
from astra_ns3.network.door.port_rows import PortRows, port_ends
from astra_ns3.network.door.recording import Recording
from astra_ns3.network.door.reducers import ReducerPlayers
from astra_ns3.network.door.session import Session, Statistics, close_session
from astra_ns3.network.floor.carried import CarriedBytes, Launch, Launches
from astra_ns3.network.flow_player import FlowPlayer, FlowPlayerSetup
from astra_ns3.network.records import RecorderOptions
from astra_ns3.topology.graph import Graph
from astra_ns3.units import LARGEST_INTEGER, format_time

_LOG = logging.getLogger(__name__)
_UNKNOWN_EXCEPTION = "unhandled, unknown C++ exception"
_Numbers = npt.NDArray[np.int64]
_TRANSPORT_FAILED = 1 << 63
"""In the token of a timer, as in ``astra-ns3-session.h``."""
_NO_DELAY = -1
"""Stands for a group without an endpoint delay of its own."""


class SessionBackend:
    """One live simulation; fulfils :class:`~astra_ns3.network.api.NetworkBackend`.

    ``graph`` has the NPUs and the ports that can be looked at, ``describe(description)`` describes the network.
    ``on_built`` is called with a :class:`~astra_ns3.network.door.hook.HookContext` before the first event; if it
    returns a function, that is called when the run has ended, while the simulation still exists. ``cores``: how many
    threads play, where the network allows more than one. ``ideal``: as for
    :class:`~astra_ns3.network.door.recording.Recording`. Raises BackendError if ns-3 can't be loaded, refuses the
    network, or a session is open already.
    """

    delivers_whole = True
    """Whether :meth:`delivered_bytes` counts a message when it is whole; packets count as they come."""
    counts_packets = False
    """Whether there are packets, so that queues, losses, marks and pauses are counted."""

    def __init__(
        self,
        graph: Graph,
        observe: Observe,
        describe: Callable[[Description], None],
        *,
        seed: int = 1,
        recorder: RecorderOptions | None = None,
        on_built: Callable[[HookContext], object] | None = None,
        cores: int = 1,
        ideal: Callable[[], Ideal] | None = None,
    ) -> None:
        self._live = False  # there is a session
        self._cores = cores
        self._hook_ended: Callable[[], object] | None = None
        self._hook: HookContext | None = None  # keeps what the hook handed to ns-3
        self.before_hook: Callable[[], object] | None = None
        """Called before each call of a hook's code."""
        self.hook_result: object = None
        """The result of the function that the hook had returned; from :meth:`close` on."""
        self._graph = graph
        self._launches = Launches()
        self._players: list[SessionFlowPlayer] = []
        self._listener: NetworkListener | None = None
        self._timers: dict[int, Callable[[int], None]] = {}
        self._tokens = itertools.count()
        self._shared: dict[Hashable, dict[int, int]] = {}
        self._callback_seconds = 0.0
        self._raised: BaseException | None = None
        self._interrupted = False
        with _translated():
            self._native = load()
            self._native_listener = Listener(self)
            self._idle_memory_bytes = _resident_bytes()
            description = Description()
            describe(description)
            self._recording = Recording(description, graph, observe, recorder or RecorderOptions(), ideal)
            self._session: Session = description.open(seed, self._native_listener.native)
            self._session.UseCores(cores)
        self._live = True
        try:
            self._recording.begin(self._session)
            if self._raised is not None:  # by a user's code that was called while the session was made
                raise self._raised
            self._run_hook(on_built)
        except BaseException:
            self._live = False
            close_session(self._session, process_ends=False)
            raise

    def _run_hook(self, on_built: Callable[[HookContext], object] | None) -> None:
        if on_built is None:
            return
        with _translated():
            self._session.KeepHostsTogether()
            self._hook = HookContext(load_namespace(), self._session, self._graph, self._call_hook)
            ended = on_built(self._hook)
        self._hook_ended = ended if callable(ended) else None

    @property
    def npus(self) -> int:
        """How many NPUs there are."""
        return len(self._graph.npu_host)

    def register_schedule(self, schedule: Schedule) -> int:
        """Hand over a schedule; raises BackendError if it can't be played."""
        sizes = schedule.ranks, schedule.blocks, schedule.expansion, schedule.lanes
        columns = native_columns(schedule)
        with _translated():
            if schedule.rotation is None:
                number = int(self._session.RegisterSchedule(*sizes, schedule.messages, columns))
            else:
                rotation = schedule.rotation
                turned = rotation.digits, rotation.inner, rotation.rows
                number = int(self._session.RegisterRotation(*sizes, *turned, columns))
        self._launches.schedule(number, schedule)
        return number

    def register_group(self, npus: Sequence[int]) -> int:
        """Name the NPUs that play ranks 0, 1, ... of a schedule."""
        return self.register_group_on(npus, 0, None)

    def register_delayed_group(self, npus: Sequence[int], delay_ps: int) -> int:
        """As :meth:`register_group`, with an endpoint delay of its own."""
        return self.register_group_on(npus, 0, delay_ps)

    def register_group_on(self, npus: Sequence[int], connections: int, delay_ps: int | None) -> int:
        """As :meth:`register_delayed_group`, on connections of its own."""
        players = self._reducers.players(npus)
        members, own_ps = np.array(players, dtype=np.uint32), _NO_DELAY if delay_ps is None else delay_ps
        with _translated():
            number = int(self._session.RegisterGroup(members, len(players), own_ps, connections))
        self._launches.group(number, npus)
        return number

    def register_channel(self, npus: Sequence[int], channel: ChannelCosts) -> int:
        """As :meth:`register_group`, of NPUs that play a channel of a collective library."""
        players = self._reducers.players(npus, shared=True)
        members, servers = np.array(players, dtype=np.uint32), np.array(channel.servers, dtype=np.uint32)
        costs = np.array(channel.numbers, dtype=np.uint64)
        with _translated():
            number = int(self._session.RegisterChannel(members, len(npus), servers, costs))
        self._launches.group(number, npus, channel)
        return number

    def set_priority(self, group: int, priority: int) -> None:
        """Have the messages of a group travel in a priority."""
        self._session.SetGroupPriority(group, priority)

    def abandon(self, instances: range) -> None:
        """Send nothing more in these phases."""
        self._session.Abandon(instances.start, instances.stop)

    def launch(self, npu: int, schedule: int, group: int, instance: int, bytes: int) -> None:
        """Start ``npu``'s part of a phase now."""
        self._launches.launched(schedule, group, bytes)
        self._session.Launch(npu, instance, schedule, group, bytes)

    def launch_all(self, rows: Sequence[Launch]) -> None:
        """As :meth:`launch`, with the arguments of each in their order."""
        self._launches.all_launched(rows)
        self._session.LaunchAll(np.array(rows, dtype=np.uint64).reshape(-1), len(rows))

    def carried(
        self, groups: Collection[int] | None = None, players: Collection[FlowPlayer] | None = None
    ) -> CarriedBytes:
        """Bytes that NPUs have sent each other, of all that every member of ``groups`` and ``players`` has launched."""
        asked = [player for player in self._players if players is None or player in players]
        return self._launches.carried(groups).and_of([player.carried for player in asked])

    def flow_player(self, setup: FlowPlayerSetup) -> SessionFlowPlayer:
        """Open a player of flows."""
        token = next(self._tokens)

        def due(time_ps: int) -> None:
            self._timers[token] = due
            setup.on_due(time_ps)

        self._timers[token] = due
        with _translated():
            player = SessionFlowPlayer(self._session, setup, token)
        self._players.append(player)
        return player

    def call_later(self, npu: int, delay_ps: int, callback: Callable[[int], None]) -> None:
        """Call ``callback(time_ps)`` after ``delay_ps``; raises BackendError if 64 bits hold no such time."""
        if delay_ps > LARGEST_INTEGER - self.now_ps():
            raise BackendError(
                f"what NPU {npu} does next would end beyond 106 days, the most that 64 bits of picoseconds hold"
            )
        token = next(self._tokens)
        self._timers[token] = callback
        self._session.SetTimer(npu, delay_ps, token)

    def now_ps(self) -> int:
        """The simulated time."""
        return int(self._session.GetNowPs())

    def run_ps(self) -> int:
        """The same: nobody has a time of its own here."""
        return self.now_ps()

    def npu_of(self, rank: int) -> int:
        """The same: nobody has ranks of its own here."""
        return rank

    def shared(self, key: Hashable) -> dict[int, int]:
        """Return numbers that all who play share under a key."""
        return self._shared.setdefault(key, {})

    def run(self, listener: NetworkListener, limits: Limits) -> None:
        """Play events until :meth:`stop` or until none is left.

        Raises LimitReached, BackendError when a connection gives up, and what callbacks raise.
        """
        self._listener = listener
        limit_ps = -1 if limits.simulated_ps is None else limits.simulated_ps
        self._raise_what_was_raised()
        with _translated(), self._signals_noted():
            status = int(self._session.Run(limit_ps))
        self._raise_what_was_raised()
        if status == self._native.RUN_FAILED:
            raise BackendError(
                f"{self._reducers.in_words(self._session.GetFailure())} (at {format_time(self.now_ps())})"
            )
        if status == self._native.RUN_HALTED:
            raise BackendError(
                f"a hook stopped the simulation at {format_time(self.now_ps())}, before the NPUs were done"
            )
        if status == self._native.RUN_LIMIT:
            raise LimitReached(f"simulated time reached its limit of {format_time(limit_ps)}")

    def _raise_what_was_raised(self) -> None:
        """Raise what a call of Python raised, as itself."""
        if self._raised is not None:
            raised, self._raised = self._raised, None
            with _translated():
                raise raised

    def stop(self) -> None:
        """Leave :meth:`run` after the present event."""
        self._session.Stop()

    def pending(self, npu: int, instance: int) -> list[PendingMessage]:
        """Messages that ``npu`` still has to send or receive in ``instance``."""
        found = [self._session.GetPending(index) for index in range(self._session.CountPending(npu, instance))]
        name = self._reducers.name
        return [
            PendingMessage(name(int(m.sender)), name(int(m.receiver)), int(m.bytes), int(m.step), bool(m.sent))
            for m in found
        ]

    def statistics(self) -> dict[str, int | float]:
        """Totals of the run so far: events, messages, packets, retransmissions, timeouts, connections, drops.

        ``python_seconds`` is the wall time spent in callbacks into Python, ``idle_memory_bytes`` what the program held
        with ns-3 loaded and nothing built.
        """
        return self._statistics(self._session.GetStatistics(True))

    def peek(self) -> tuple[dict[str, int | float], PortRows]:
        """As :meth:`statistics` and :meth:`switch_table`, while the simulation goes on, without touching it.

        A port counts what it has settled so far, which may be a few frames less than what it has sent by now.
        """
        found = self._session.GetStatistics(False)
        return self._statistics(found), self._switch_table(found)

    def hand_over_rows(self) -> None:
        """Hand on the rows that were recorded so far, so that they are safe if this process dies."""
        self._session.HandOverRecords()

    def show_time_at(self, address: int) -> None:
        """Have the time of each event written at ``address``, an int64 that outlives this backend."""
        self._session.ShowTimeAt(address)

    def _statistics(self, native: Statistics) -> dict[str, int | float]:
        return {
            **totals(native, of_packets=self.counts_packets),
            "python_seconds": self._callback_seconds,
            "idle_memory_bytes": self._idle_memory_bytes,
        }

    def warnings(self) -> list[str]:
        """Warnings of the run for its user, each one line."""
        found = []
        if self._session.GetCores() < self._cores:
            found.append(f"played on one core, not {self._cores}: {self._session.DescribeOneCore()}")
        storms = int(self._session.GetStatistics(False).pauseStorms)
        if storms > 0:
            longest = str(self._session.DescribeLongestPause())
            found.append(f"ports were stopped longer than their watchdog {storms} times, at most {longest}")
        if self.counts_packets:
            found += lost_to_failures(self._session.GetStatistics(False), self._graph, self._port_ends)
        return found

    def switch_table(self) -> PortRows:
        """One row per port, NICs included: what it sent, dropped and marked, and its longest queue."""
        return self._switch_table(self._session.GetStatistics(True))

    def _switch_table(self, native: Statistics) -> PortRows:
        names, numbers = port_counters(native, of_packets=self.counts_packets)
        return PortRows(self._graph.hosts, self._port_ends, names, numbers)

    @cached_property
    def _reducers(self) -> ReducerPlayers:
        return ReducerPlayers(self._graph)

    @cached_property
    def _port_ends(self) -> _Numbers:
        return port_ends(self._graph)

    def sent_bytes(self, npu: int) -> int:
        """Bytes of the messages that ``npu`` has sent so far."""
        return int(self._session.GetSentBytes(npu))

    def delivered_bytes(self, npus: Sequence[int] | None = None) -> int:
        """Return the bytes of messages, whole or not, that some NPUs, or all, have got so far."""
        if npus is None:
            return int(self._session.GetDeliveredBytes())
        return int(self._session.GetDeliveredBytesOf(np.array(npus, dtype=np.uint32), len(npus)))

    def longest_queue(self) -> tuple[str, int] | None:
        """The port at which most bytes waited when it was last settled, and how many; None without ports or packets."""
        ports = self._switch_table(self._session.GetStatistics(False))
        if not len(ports) or not self.counts_packets:
            return None
        longest = ports[int(ports.counters[:, ports.names.index("queue_bytes")].argmax())]
        return str(longest["port"]), int(longest["queue_bytes"])

    def close(self, *, process_ends: bool = False) -> None:
        """Finish the files and free the simulation (or leave that to the end of the process); safe to call twice."""
        if not self._live:
            return
        self._live = False
        try:
            with _translated():
                self._recording.end(self._session)
            self._end_hook()
            if self._raised is not None:
                raise self._raised
        finally:
            self._recording.close()
            close_session(self._session, process_ends=process_ends)
            del self._session

    def _end_hook(self) -> None:
        """Call what the hook returned; what it raises is no reason to lose a finished run."""
        if self._hook_ended is not None:
            try:
                self.hook_result = self._hook_ended()
            except (Exception, SystemExit) as error:
                frames = traceback.extract_tb(error.__traceback__)[1:]  # but for this one
                own = (
                    f"{each.filename}:{each.lineno}: " for each in frames[::-1] if each.filename == frames[0].filename
                )
                words = f"the function that the hook returned failed: {type(error).__name__}: {error}"
                _LOG.error("%s", next(own, "") + " ".join(words.split()))

    # What the native session calls.

    def phase_done(self, npu: int, instance: int, time_ps: int) -> None:
        """An NPU has finished its part of a phase."""
        assert self._listener is not None
        self._call(self._listener.phase_done, npu, instance, time_ps)

    def timer_due(self, token: int, time_ps: int) -> None:
        """A timer of :meth:`call_later` is due."""
        self._call(self._due(token), time_ps)

    def _due(self, token: int) -> Callable[[int], None]:
        """Return the callback of a timer: that of :meth:`call_later`, or one that tells of a transport that gave up."""
        if token < _TRANSPORT_FAILED:
            return self._timers.pop(token)
        return partial(self._transport_failed, token - _TRANSPORT_FAILED)

    def _transport_failed(self, number: int, time_ps: int) -> None:
        failed = getattr(self._listener, "transport_failed", None)
        failure = self._session.GetTransportFailure(number)
        reason = f"{self._reducers.in_words(failure.reason)} (at {format_time(time_ps)})"
        if failed is None:
            raise BackendError(reason)
        failed(int(failure.instance), reason)

    def several_due(self, address: int, count: int, time_ps: int) -> None:
        """Phases are done and timers due at one moment."""
        self._call(self._play_several, *dues_at(address, count), time_ps)

    def _play_several(self, numbers: list[int], npus: list[int], time_ps: int) -> None:
        assert self._listener is not None
        phases_done = getattr(self._listener, "phases_done", None)
        begin = 0
        for index, npu in enumerate(npus):
            if npu < 0:
                self._play_phases(npus[begin:index], numbers[begin:index], time_ps, phases_done)
                self._due(numbers[index])(time_ps)
                begin = index + 1
        self._play_phases(npus[begin:], numbers[begin:], time_ps, phases_done)

    def _play_phases(
        self,
        npus: list[int],
        instances: list[int],
        time_ps: int,
        phases_done: Callable[[list[int], list[int], int], None] | None,
    ) -> None:
        if phases_done is not None and len(npus) > 1:
            phases_done(npus, instances, time_ps)
            return
        assert self._listener is not None
        for npu, instance in zip(npus, instances, strict=True):
            self._listener.phase_done(npu, instance, time_ps)

    def heartbeat(self, time_ps: int, events: int) -> None:
        """About 100 ms of wall time have passed."""
        self._call(self._beat, time_ps, events)

    def _beat(self, time_ps: int, events: int) -> None:
        assert self._listener is not None
        if self._interrupted:
            raise KeyboardInterrupt
        self._listener.heartbeat(time_ps, events)

    def records_ready(self, table: int) -> None:
        """The session has rows to fetch."""
        self._call(self._recording.fetch, self._session, table)

    @contextmanager
    def _signals_noted(self) -> Iterator[None]:
        """While the simulation runs, signals are only noted; the next heartbeat raises KeyboardInterrupt.

        Python's own way would raise it wherever Python happens to be, half way through the bridge too.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        noted = [number for number in (signal.SIGINT, signal.SIGTERM) if callable(signal.getsignal(number))]
        before = {number: signal.signal(number, self._note_signal) for number in noted}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _note_signal(self, _signal: int, _frame: FrameType | None) -> None:
        self._interrupted = True

    def _call_hook(self, function: Callable[..., object], *arguments: object) -> None:
        """Call a hook's code, which may never return; whoever wants to know how far the run is hears it before."""
        if self.before_hook is not None:
            self._call(self.before_hook)
        self._call(function, *arguments)

    def _call(self, function: Callable[..., object], *arguments: object) -> None:
        """Call Python from the simulation; what it raises stops the simulation and comes out of :meth:`run`.

        It must not pass through the native code: the bridge would put its own words around it.
        """
        begin = time.perf_counter()
        try:
            function(*arguments)
        except BaseException as error:
            self._raised = self._raised or error
            if hasattr(self, "_session"):  # a congestion control may be made, and fail, with it
                self._session.Stop()
        self._callback_seconds += time.perf_counter() - begin


def native_columns(schedule: Schedule) -> npt.NDArray[np.int32]:
    """The eight columns of a schedule one after the other, as ``Session.RegisterSchedule`` takes them; those of rank 0
    where they stand for all.

    Shape ``(8 * kept_rows,)``.
    """
    found = np.empty((len(COLUMNS), schedule.kept_rows), dtype=np.int32)
    for row, name in zip(found, COLUMNS, strict=True):
        row[:] = schedule.kept[name]
    return found.reshape(-1)


def _resident_bytes() -> int:
    """Memory of this process that is resident now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def _translated() -> Iterator[None]:
    """Turn what comes out of native code into our errors; our own, and the user's, pass unchanged."""
    try:
        yield
    except AstraNs3Error:
        raise
    except Exception as error:
        if type(error) is Exception and _UNKNOWN_EXCEPTION in str(error):
            raise BackendError(
                "ns-3: C++ code threw something that is no std::exception; a congestion control or a hook of yours may "
                "do so"
            ) from error
        native = type(error).__module__.startswith("cppyy")
        if not native:
            raise
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        raise BackendError(f"ns-3: {lines[-1] if lines else type(error).__name__}") from error
