"""Accesses of NPUs to memory beyond the device: to storage hosts, as messages, and to a remote memory, by formula.

They take no slot of a dimension and stand in no queue. A storage host plays its part by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from astra_ns3.collectives.storage import storage_schedule
from astra_ns3.config.core.compatibility import Compatibility
from astra_ns3.config.system import SystemConfig
from astra_ns3.errors import required
from astra_ns3.network.api import NetworkBackend
from astra_ns3.network.instance import pack_instance, unpack_instance
from astra_ns3.system.groups import register_group
from astra_ns3.system.history import History
from astra_ns3.system.journal import NO_DIMENSION, Journal
from astra_ns3.system.launches import ScheduleNumbers
from astra_ns3.system.remote_memory import RemoteAccesses
from astra_ns3.system.request import Handle, MessageRequest

Later = Callable[[Handle, int, Callable[[int], None]], None]
"""Has a handle be done in so many picoseconds, and calls somebody before."""


class StorageAccesses:
    """All accesses of a run. ``finished(handle, time_ps)`` is called when a storage host has done one. ``journal``:
    where they are written down. ``launch``: as :meth:`NetworkBackend.launch`. An NPU spends its endpoint delay on them
    where it does on messages."""

    def __init__(
        self,
        network: NetworkBackend,
        config: SystemConfig,
        compatibility: Compatibility,
        schedules: ScheduleNumbers,
        history: History,
        finished: Callable[[Handle, int], None],
        launch: Callable[[int, int, int, int, int], None],
        journal: Journal | None = None,
    ) -> None:
        self._network = network
        self._hosts = config.storage_hosts
        remote = config.remote_memory
        self._remote = None if remote is None else RemoteAccesses(remote, compatibility, network)
        self._schedules = schedules
        self._history = history
        self._finished = finished
        self._journal = journal
        self._launch = launch
        self._delayed = not compatibility.messages_by_arrival
        self._groups: dict[int, int] = {}
        self._live: dict[int, Handle] = {}

    def access(self, request: MessageRequest, *, loads: bool) -> Handle:
        """The NPU of a request, its source, stores to its storage host, or loads from there."""
        npu, now_ps = request.source, self._network.now_ps()
        handle = self._begun(request)
        instance = pack_instance(handle.collective, 0, 0)
        if npu not in self._groups:
            self._groups[npu] = self._group(npu)
        if self._journal is not None:
            self._journal.queued(npu, instance, now_ps)
            self._journal.started(npu, instance, now_ps)
        self._live[handle.collective] = handle
        self._launch(
            npu, self._schedules.number(storage_schedule(loads=loads)), self._groups[npu], instance, request.bytes
        )
        return handle

    def access_remotely(self, request: MessageRequest, later: Later) -> Handle:
        """The NPU of a request, its source, reads or writes the remote memory."""
        remote = required(self._remote, "has no remote memory, which the workload needs; give it as --remote-memory")
        handle = self._begun(request)
        took_ps = remote.duration_ps(request.source, request.bytes, handle.issue_ps)
        later(handle, took_ps, partial(self._history.end, handle.collective))
        return handle

    def phase_done(self, npu: int, instance: int, time_ps: int) -> bool:
        """From the network: ``npu`` has done its part of something; return whether it was an access."""
        handle = self._live.pop(unpack_instance(instance)[0], None)
        if handle is None:
            return False
        if self._journal is not None:
            self._journal.finished(npu, instance, NO_DIMENSION, time_ps)
        self._history.end(handle.collective, time_ps)
        self._finished(handle, time_ps)
        return True

    def running(self, npu: int) -> list[int]:
        """Instances of what ``npu`` has posted and not done."""
        return [pack_instance(number, 0, 0) for number, handle in self._live.items() if handle.npu == npu]

    def _group(self, npu: int) -> int:
        hosts = required(self._hosts, "stores to storage hosts, of which nobody has told the system")
        return register_group(self._network, (npu, hosts.of(npu)), None if self._delayed else 0)

    def _begun(self, request: MessageRequest) -> Handle:
        number, now_ps = self._history.next_number, self._network.now_ps()
        self._history.begin_message(number, request, now_ps)
        return Handle(request.source, number, request, now_ps, done=False)
