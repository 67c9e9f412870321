"""A NetworkBackend in pure Python that behaves as ASTRA-sim 1.0 does on its analytical network, ties included.

Costs are those of a message alone on its way (semantics, section 3), from that program's JSON. Its order of events of
one nanosecond matters, since it decides which of two chunks is first in a queue: each NPU has a list of what it does at
a time, run as a whole when the first entry's turn comes; messages arrive in the order in which both their send and
their receive had been posted; a message that is reduced goes to the end of the NPU's list, even for no delay.
"""

from __future__ import annotations

import heapq
import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

from astra_ns3.collectives.schedule import Schedule
from astra_ns3.errors import LimitReached
from astra_ns3.network.api import EndpointModel, Limits, NetworkBackend, NetworkListener, PendingMessage

PS = 1000
GIB_PER_NS = 2**30 / 1e9


class Network10:
    """A network file of version 1.0: sizes, and what a message costs."""

    def __init__(self, path: Path) -> None:
        data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        self._data = data
        self.dimensions: tuple[int, ...] = tuple(data["units-count"])
        bandwidths = zip(data["links-count"], data["link-bandwidth"], strict=True)
        self.bandwidths = tuple(links * bandwidth for links, bandwidth in bandwidths)
        self.message_ns = cache(self._message_ns)

    @property
    def npus(self) -> int:
        npus = 1
        for size in self.dimensions:
            npus *= size
        return npus

    def _message_ns(self, sender: int, receiver: int, bytes: int) -> int:
        dimension, places = 0, (0, 0)
        for number, size in enumerate(self.dimensions):
            if sender % size != receiver % size:
                dimension, places = number, (sender % size, receiver % size)
            sender, receiver = sender // size, receiver // size

        def of(key: str) -> Any:
            return self._data[key][dimension]

        size, distance = self.dimensions[dimension], abs(places[0] - places[1])
        links, topology = of("links-count"), of("topologies-per-dim")
        hops = {"Ring": min(distance, size - distance), "FullyConnected": 1, "Switch": 2}[topology]
        parallel = {"Ring": links // 2 * 2, "FullyConnected": links // (size - 1), "Switch": links}[topology]
        time = int(hops * of("link-latency"))
        time = int(time + bytes / (of("link-bandwidth") * GIB_PER_NS * parallel))
        time = int(time + 2 * of("nic-latency"))
        if topology == "Switch":
            time = int(time + of("router-latency"))
        memory = (of("hbm-latency") + bytes / of("hbm-bandwidth")) * of("hbm-scale")
        return int(max(time, memory))


class _Role:
    """What one rank does in a schedule: rows that it sends, by what releases them, and rows that it receives."""

    def __init__(self, schedule: Schedule, sent: list[int], received: list[int], place: Sequence[int]) -> None:
        released: dict[tuple[int, int], list[int]] = defaultdict(list)
        for row in sent:
            step = int(schedule.wait_step[row])
            released[step, int(schedule.wait_count[row]) if step >= 0 else 0].append(row)
        self.released = dict(released)
        self.sends = len(sent)
        order = sorted(received, key=lambda row: (int(schedule.step[row]), place[row]))
        # A tree's node waits for its children from the start; others post a receive with each send.
        at_once = schedule.name.startswith("doubleBinaryTree")
        self.posted_at_once = [row for row in order if at_once and schedule.step[row] == 0]
        self.posted_later = [row for row in order if row not in set(self.posted_at_once)]


class _Plan:
    """A schedule taken apart, once."""

    def __init__(self, schedule: Schedule) -> None:
        sent: list[list[int]] = [[] for _ in range(schedule.ranks)]
        received: list[list[int]] = [[] for _ in range(schedule.ranks)]
        place = []
        for row, (sender, receiver) in enumerate(zip(schedule.sender, schedule.receiver, strict=True)):
            place.append(len(sent[sender]))
            sent[sender].append(row)
            received[receiver].append(row)
        self.roles = [_Role(schedule, sent[rank], received[rank], place) for rank in range(schedule.ranks)]
        self.receiver = schedule.receiver.tolist()
        self.sender = schedule.sender.tolist()
        self.step = schedule.step.tolist()
        self.reduces = schedule.reduces.tolist()
        self.sizes: Callable[[int], list[int]] = cache(lambda bytes: schedule.message_bytes(bytes).tolist())


class _Part:
    """One rank's part of a running schedule. ``key`` names the run: instance and group."""

    def __init__(self, plan: _Plan, role: _Role, members: list[int], key: tuple[int, int], sizes: list[int]) -> None:
        self.plan, self.role, self.members, self.key, self.sizes = plan, role, members, key, sizes
        self.unsent = role.sends
        self.posts = iter(role.posted_later)
        self.unhandled = len(role.posted_at_once) + len(role.posted_later)
        self.handled: dict[int, int] = defaultdict(int)


class AstraSimNetwork(NetworkBackend):
    """``endpoint``: its delays are charged as semantics, section 4, says."""

    npus = 0

    def __init__(self, network: Network10, endpoint: EndpointModel) -> None:
        self.npus = network.npus
        self.messages = 0
        self._network = network
        self._endpoint = endpoint
        self._plans: list[_Plan] = []
        self._groups: list[list[int]] = []
        self._times: list[int] = []
        self._events: dict[int, list[Callable[[], None]]] = {}
        self._own_events: list[dict[int, list[Callable[[], None]]]] = [{} for _ in range(self.npus)]
        self._now_ps = 0
        self._stopped = False
        self._parts: dict[tuple[int, int], _Part] = {}
        self._on_way: dict[tuple[tuple[int, int], int], int] = {}
        self._posted: set[tuple[tuple[int, int], int]] = set()

    def register_schedule(self, schedule: Schedule) -> int:
        self._plans.append(_Plan(schedule))
        return len(self._plans) - 1

    def register_group(self, npus: Sequence[int]) -> int:
        self._groups.append(list(npus))
        return len(self._groups) - 1

    def launch(self, npu: int, schedule: int, group: int, instance: int, bytes: int) -> None:
        plan, members = self._plans[schedule], self._groups[group]
        part = _Part(plan, plan.roles[members.index(npu)], members, (instance, group), plan.sizes(bytes))
        assert (npu, instance) not in self._parts, "launched twice"
        self._parts[npu, instance] = part
        for row in part.role.posted_at_once:
            self._post(npu, part, row)
        self._register(npu, self._endpoint.delay_ps, partial(self._send, npu, part, (-1, 0)))

    def call_later(self, npu: int, delay_ps: int, callback: Callable[[int], None]) -> None:
        self._register(npu, delay_ps, lambda: callback(self._now_ps))

    def now_ps(self) -> int:
        return self._now_ps

    def run(self, listener: NetworkListener, limits: Limits) -> None:
        self._listener = listener
        while self._times and not self._stopped:
            time_ps = heapq.heappop(self._times)
            if limits.simulated_ps is not None and time_ps > limits.simulated_ps:
                raise LimitReached("simulated time")
            self._now_ps = time_ps
            for action in self._events[time_ps]:
                action()
                if self._stopped:
                    break
            del self._events[time_ps]

    def stop(self) -> None:
        self._stopped = True

    def pending(self, npu: int, instance: int) -> list[PendingMessage]:
        return []

    def close(self, *, process_ends: bool = False) -> None:
        self._events.clear()

    def _at(self, time_ps: int, action: Callable[[], None]) -> None:
        if time_ps not in self._events:
            self._events[time_ps] = []
            heapq.heappush(self._times, time_ps)
        self._events[time_ps].append(action)

    def _register(self, npu: int, delay_ps: int, action: Callable[[], None]) -> None:
        """On the list of an NPU, whose turn among all is that of its first entry."""
        time_ps, own = self._now_ps + delay_ps, self._own_events[npu]
        if time_ps not in own:
            own[time_ps] = []
            self._at(time_ps, partial(self._run_own, npu, time_ps))
        own[time_ps].append(action)

    def _run_own(self, npu: int, time_ps: int) -> None:
        for action in self._own_events[npu][time_ps]:
            action()
            if self._stopped:
                break
        del self._own_events[npu][time_ps]

    def _send(self, npu: int, part: _Part, released_by: tuple[int, int]) -> None:
        for row in part.role.released.get(released_by, ()):
            part.unsent -= 1
            self.messages += 1
            receiver = part.members[part.plan.receiver[row]]
            arrival_ps = self._now_ps + self._network.message_ns(npu, receiver, part.sizes[row]) * PS
            if (part.key, row) in self._posted:
                self._posted.remove((part.key, row))
                self._at(arrival_ps, partial(self._arrive, receiver, part.key[0], row))
            else:
                self._on_way[part.key, row] = arrival_ps
            posted = next(part.posts, None)
            if posted is not None:
                self._post(npu, part, posted)
        if not part.unsent and not part.unhandled:
            instance = part.key[0]
            del self._parts[npu, instance]
            self._listener.phase_done(npu, instance, self._now_ps)

    def _post(self, npu: int, part: _Part, row: int) -> None:
        arrival_ps = self._on_way.pop((part.key, row), None)
        if arrival_ps is None:
            self._posted.add((part.key, row))
        else:
            self._at(max(arrival_ps, self._now_ps), partial(self._arrive, npu, part.key[0], row))

    def _arrive(self, npu: int, instance: int, row: int) -> None:
        self._register(npu, self._endpoint.delay_ps, partial(self._delayed, npu, self._parts[npu, instance], row))

    def _delayed(self, npu: int, part: _Part, row: int) -> None:
        if part.plan.reduces[row]:
            reduction_ns = 3 * (part.sizes[row] // self._endpoint.reduction_bytes_per_ns)
            self._register(npu, reduction_ns * PS, partial(self._handle, npu, part, row))
        else:
            self._handle(npu, part, row)

    def _handle(self, npu: int, part: _Part, row: int) -> None:
        step = part.plan.step[row]
        part.unhandled -= 1
        part.handled[step] += 1
        self._send(npu, part, (step, part.handled[step]))
