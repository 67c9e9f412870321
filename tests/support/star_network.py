"""Networks of one switch and schedules made by hand, played on a backend and taken down; shared by tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from astra_ns3.collectives.schedule import Schedule
from astra_ns3.config.network.packet_network import NetworkConfig, parse_network
from astra_ns3.network.api import EndpointModel, Limits, NetworkBackend
from astra_ns3.network.backend_makers import create_backend
from astra_ns3.network.plan import plan_network
from astra_ns3.network.records import RecorderOptions

OPEN_WINDOW_SEGMENTS = 200_000
"""An initial window that no test's message fills."""


def star(
    npus: int,
    *,
    rate: str = "100Gbps",
    delay: str = "500ns",
    buffer: str | int = "1GB",
    ecn: Mapping[str, object] | None = None,
    nic: Mapping[str, object] | None = None,
    local: Mapping[str, object] | None = None,
    npus_per_host: int = 1,
    observe: Mapping[str, object] | None = None,
    **tcp: Any,
) -> NetworkConfig:
    """Hosts around one switch; ``tcp`` are keys of the transport."""
    switch: dict[str, object] = {"buffer": buffer} if ecn is None else {"buffer": buffer, "ecn": ecn}
    topology: dict[str, object] = {
        "kind": "single-switch",
        "npus": npus,
        "npus_per_host": npus_per_host,
        "link": {"rate": rate, "delay": delay},
        "switch": switch,
    }
    topology |= {key: value for key, value in (("nic", nic), ("local", local)) if value is not None}
    return parse_network({"topology": topology, "transport": {"kind": "tcp", **tcp}, "observe": observe or {}})


@dataclass(frozen=True)
class Row:
    """One message of a schedule made by hand, carrying the whole data; it waits for nothing by default."""

    sender: int
    receiver: int
    step: int = 0
    reduces: bool = False
    wait_step: int = -1
    wait_count: int = 0


def by_hand(ranks: int, rows: Sequence[Row]) -> Schedule:
    """The schedule of these messages."""

    def int32(values: Iterable[int]) -> Any:
        return np.array(list(values), dtype=np.int32)

    return Schedule(
        name="made by hand",
        ranks=ranks,
        blocks=1,
        sender=int32(row.sender for row in rows),
        receiver=int32(row.receiver for row in rows),
        step=int32(row.step for row in rows),
        first_block=int32(0 for _ in rows),
        block_count=int32(1 for _ in rows),
        reduces=np.array([row.reduces for row in rows], dtype=np.bool_),
        wait_step=int32(row.wait_step for row in rows),
        wait_count=int32(row.wait_count for row in rows),
    )


def one_message() -> Schedule:
    """Rank 0 sends the data to rank 1."""
    return by_hand(2, [Row(0, 1)])


def incast(senders: int) -> Schedule:
    """Ranks 1 to ``senders`` send the data to rank 0, all at once."""
    return by_hand(senders + 1, [Row(rank, 0) for rank in range(1, senders + 1)])


def deadlock() -> Schedule:
    """Each of two ranks sends only after it has received the other's message."""
    return by_hand(2, [Row(0, 1, wait_step=0, wait_count=1), Row(1, 0, wait_step=0, wait_count=1)])


class Listener:
    """Takes down what a backend calls; ``on_done`` is called too."""

    def __init__(self, on_done: Callable[[int, int, int], None] | None = None) -> None:
        self.done: list[tuple[int, int, int]] = []  # rank, instance, time
        self._on_done = on_done

    def phase_done(self, rank: int, instance: int, time_ps: int) -> None:
        self.done.append((rank, instance, time_ps))
        if self._on_done is not None:
            self._on_done(rank, instance, time_ps)

    def heartbeat(self, time_ps: int, events: int) -> None: ...

    @property
    def times_ps(self) -> list[int]:
        return [time_ps for _, _, time_ps in self.done]

    def done_ps(self, rank: int, instance: int = 0) -> int:
        """When a rank finished; it must have done so once."""
        (time_ps,) = [time_ps for who, which, time_ps in self.done if (who, which) == (rank, instance)]
        return time_ps


def launch_all(
    network: NetworkBackend, schedule: Schedule, bytes: int, instance: int = 0, ranks: Sequence[int] | None = None
) -> None:
    """Launch a schedule on all its ranks at the present time; ``ranks``: the NPUs that play them."""
    members = range(schedule.ranks) if ranks is None else ranks
    number, group = network.register_schedule(schedule), network.register_group(members)
    for member in members:
        network.launch(member, number, group, instance, bytes)


@dataclass
class Played:
    """What came of one schedule, launched on all ranks at time 0 and played until nothing was left."""

    listener: Listener
    end_ps: int
    statistics: dict[str, int]
    ports: dict[str, dict[str, Any]]
    directory: Path | None
    sent_bytes: list[int] = field(default_factory=list)

    @property
    def finish_ps(self) -> int:
        """When the last rank was done."""
        return max(self.listener.times_ps)

    def done_ps(self, rank: int, instance: int = 0) -> int:
        return self.listener.done_ps(rank, instance)

    def table(self, name: str) -> pd.DataFrame:
        """A recorded table."""
        assert self.directory is not None
        return pd.read_parquet(self.directory / f"{name}.parquet")


def play(
    config: NetworkConfig,
    schedule: Schedule,
    bytes: int,
    *,
    repeat: int = 1,
    ranks: Sequence[int] | None = None,
    endpoint: EndpointModel | None = None,
    seed: int = 1,
    directory: Path | None = None,
    on_built: Callable[..., object] | None = None,
    stop_when_done: bool = True,
) -> Played:
    """Play a schedule on the ns-3 backend, ``repeat`` times in sequence (instance 0, 1, ...): each rank goes on by
    itself. ``stop_when_done``: not beyond the time the last rank is done."""
    backend: Any = create_backend(
        "ns3",
        plan_network(config, endpoint),
        seed=seed,
        recorder=RecorderOptions(directory, flows=directory is not None),
        on_built=on_built,
    )
    members = list(range(schedule.ranks) if ranks is None else ranks)
    number, group = backend.register_schedule(schedule), backend.register_group(members)
    left = repeat * len(members)

    def done(rank: int, instance: int, time_ps: int) -> None:
        nonlocal left
        left -= 1
        if instance + 1 < repeat:
            backend.launch(rank, number, group, instance + 1, bytes)
        elif not left and stop_when_done:
            backend.stop()

    listener = Listener(done)
    try:
        for member in members:
            backend.launch(member, number, group, 0, bytes)
        backend.run(listener, Limits())
        return Played(
            listener,
            backend.now_ps(),
            backend.statistics(),
            {str(row["port"]): row for row in backend.switch_table()},
            directory,
            [backend.sent_bytes(rank) for rank in range(backend.npus)],
        )
    finally:
        backend.close()
