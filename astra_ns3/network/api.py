"""The contract that every network backend fulfils.

A backend plays :class:`~astra_ns3.collectives.schedule.Schedule` objects on simulated NPUs. The layers above
never see a packet or a message: they launch a phase on an NPU and are told when that NPU has finished it.
Times are integers in picoseconds since the start of the simulation, sizes integers in bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import Protocol

from astra_ns3.collectives.schedule import Schedule
from astra_ns3.frozen import dataclass
from astra_ns3.network.channel import ChannelCosts as ChannelCosts
from astra_ns3.network.floor.carried import CarriedBytes, Launch
from astra_ns3.network.flow_player import FlowPlayer, FlowPlayerSetup
from astra_ns3.network.limits import Limits as Limits


@dataclass(frozen=True)
class Still:
    """A time in which an NPU stands still; what it is to do then it does at ``end_ps``."""

    npu: int
    start_ps: int
    end_ps: int


@dataclass(frozen=True)
class EndpointModel:
    """The time that an NPU spends on a message besides the network.

    ``delay_ps`` passes before the first sends of a phase and after each received message. A received message
    that is reduced waits another ``3 * floor(bytes / reduction_bytes_per_ns)`` nanoseconds (two reads and one
    write). Source: ASTRA-sim 1.0, whose memory moves 500000 bytes a nanosecond.

    With ``rendezvous_bytes`` above 0 a receiver invites each message by one of that size, sent when it is ready to
    receive, and the message leaves when the invitation has arrived (ASTRA-sim's rendezvous protocol: 8192 bytes).

    ``tells_failures``: a transport that gives up is told of to a listener that has a
    ``transport_failed(instance, reason)``, with the instance of the first message that can never arrive, and ends the
    run otherwise. ``stills``: in order of time, when which NPU neither begins a part of a phase nor
    handles what it receives.
    """

    delay_ps: int = 0
    reduction_bytes_per_ns: int = 500_000
    rendezvous_bytes: int = 0
    stills: tuple[Still, ...] = ()
    tells_failures: bool = False


@dataclass(frozen=True)
class PendingMessage:
    """A message that an NPU still waits for (``sender`` to this NPU) or has not sent (``sent`` is False)."""

    sender: int
    receiver: int
    bytes: int
    step: int
    sent: bool


class NetworkListener(Protocol):
    """The object that a backend calls while it runs. Exceptions raised here come out of :meth:`NetworkBackend.run`."""

    def phase_done(self, npu: int, instance: int, time_ps: int) -> None:
        """``npu`` has sent all its messages of ``instance`` and handled all it was to receive."""

    def heartbeat(self, time_ps: int, events: int) -> None:
        """Called about every 100 ms of wall time, for progress and signals; never changes the result."""


class NetworkBackend(Protocol):
    """One live simulation. One at a time per process; :meth:`close` resets everything.

    A class that derives from this one inherits an answer, mostly that there is nothing to tell, to what it leaves out
    from :meth:`register_delayed_group` on.

    ``before_hook``: what whoever runs it wants called before each call of a hook's code. ``hook_result``: what the
    function returned that the hook had returned, from :meth:`close` on; None without a hook.
    """

    before_hook: Callable[[], object] | None = None
    hook_result: object = None

    @property
    def npus(self) -> int:
        """How many NPUs there are."""

    def register_schedule(self, schedule: Schedule) -> int:
        """Hand over a schedule once; the number returned names it in :meth:`launch`."""

    def register_group(self, npus: Sequence[int]) -> int:
        """Name the NPUs that play ranks 0, 1, ... of a schedule."""

    def launch(self, npu: int, schedule: int, group: int, instance: int, bytes: int) -> None:
        """Start NPU ``npu``'s part of ``schedule`` on ``bytes`` of data per rank, at the present time.

        ``instance`` (0 to 2**63 - 1) tells apart runs of a schedule and is the same on every member of the group.
        A message that arrives before its receiver has launched is kept until then.
        """

    def launch_all(self, rows: Sequence[Launch]) -> None:
        """As :meth:`launch`, with the arguments of each in their order."""
        for row in rows:
            self.launch(*row)

    def call_later(self, npu: int, delay_ps: int, callback: Callable[[int], None]) -> None:
        """Call ``callback(time_ps)`` when ``delay_ps`` have passed; it belongs to NPU ``npu``."""

    def now_ps(self) -> int:
        """The simulated time."""

    def run(self, listener: NetworkListener, limits: Limits) -> None:
        """Play events until :meth:`stop`, or until none is left.

        Raises :class:`~astra_ns3.errors.LimitReached`, :class:`~astra_ns3.errors.BackendError`, and whatever the
        listener or a callback raises.
        """

    def stop(self) -> None:
        """Leave :meth:`run` after the present event, and those of the same moment that follow it and only tell."""

    def pending(self, npu: int, instance: int) -> list[PendingMessage]:
        """Messages that ``npu`` still has to send or receive in ``instance``; empty if it is done or not launched."""

    def register_delayed_group(self, npus: Sequence[int], delay_ps: int) -> int:
        """As :meth:`register_group`, with an endpoint delay of its own, for rules of another simulator.

        Who doesn't know such gives it the endpoint delay of all.
        """
        return self.register_group(npus)

    def shared(self, key: Hashable) -> dict[int, int]:
        """Return numbers that all who play on this network share under a key; none at first."""
        found: dict[int, int] = self.__dict__.setdefault("_shared", {}).setdefault(key, {})
        return found

    def npu_of(self, rank: int) -> int:
        """Return the number that an NPU has for all who play on this network."""
        return rank

    def run_ps(self) -> int:
        """Return the simulated time, which is the same for all who play on this network."""
        return self.now_ps()

    def register_group_on(self, npus: Sequence[int], connections: int, delay_ps: int | None) -> int:
        """As :meth:`register_delayed_group` (None: without a delay of its own), on connections of its own.

        ``connections``: which of a pair of NPUs its messages take; 0: those that everybody has. Who has no connections
        leaves this aside.
        """
        return self.register_group(npus) if delay_ps is None else self.register_delayed_group(npus, delay_ps)

    def register_channel(self, npus: Sequence[int], channel: ChannelCosts) -> int:
        """As :meth:`register_group`, of NPUs that play a channel of a collective library.

        Backends without channels charge the usual costs of an endpoint.
        """
        return self.register_group(npus)

    def set_priority(self, group: int, priority: int) -> None:
        """Have the messages of a group, from the first on, travel in a priority of the transport's eight.

        Backends without priorities need not heed it.
        """
        return None  # noqa: RET501, what has an empty body is abstract

    def abandon(self, instances: range) -> None:
        """Send nothing more in these phases, and don't tell of their ends; messages under way still arrive.

        A backend that ignores this goes on sending until the phase's end, although the job has ended.
        """
        return None  # noqa: RET501, what has an empty body is abstract

    def flow_player(self, setup: FlowPlayerSetup) -> FlowPlayer | None:
        """Return who starts flows at their times inside the backend; None: whoever wants that launches each."""
        return None

    @property
    def delivers_whole(self) -> bool:
        """Whether :meth:`delivered_bytes` has messages when they are whole alone, or nothing at all."""
        return True

    def delivered_bytes(self, npus: Sequence[int] | None = None) -> int | None:
        """Return the bytes of messages, whole or not, that ``npus`` (None: all) have got; None if nobody counts them.

        They may go down, when a receiver throws away what it had.
        """
        return None

    def carried(
        self, groups: Collection[int] | None = None, players: Collection[FlowPlayer] | None = None
    ) -> CarriedBytes | None:
        """Return what NPUs have sent each other in all that every member has launched; None if nobody counts it.

        ``groups``, ``players``: what these have sent alone.
        """
        return None

    def longest_queue(self) -> tuple[str, int] | None:
        """The port at which most bytes wait, and how many, about now; None where there are no queues."""
        return None

    def statistics(self) -> Mapping[str, int | float]:
        """Counters of the run so far, by name; which there are is the backend's affair."""
        return {}

    def switch_table(self) -> Sequence[Mapping[str, str | int]]:
        """One row per port of the network, with what it has done; none without ports."""
        return ()

    def peek(self) -> tuple[Mapping[str, int | float], Sequence[Mapping[str, str | int]]]:
        """As :meth:`statistics` and :meth:`switch_table`, cheaply, in the midst of the run, without touching it."""
        return {}, ()

    def warnings(self) -> Sequence[str]:
        """Warnings of the run for its user, each one line."""
        return ()

    def hand_over_rows(self) -> None:
        """Hand on what was recorded so far, so that it is safe if this process dies."""
        return None  # noqa: RET501, what has an empty body is abstract

    def show_time_at(self, address: int) -> None:
        """Have the time of each event written at ``address``, an int64 that outlives this backend."""
        return None  # noqa: RET501

    def close(self, *, process_ends: bool = False) -> None:
        """Finish what is written and free everything; safe to call twice.

        With ``process_ends`` the memory is left to the end of the process, which must follow: freeing tens of
        thousands of sockets one by one takes longer than a user who pressed Ctrl-C wants to wait.
        """
