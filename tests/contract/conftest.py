"""Every registered backend, and the fake one, behind one face, so that the contract's tests name none of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
import pytest
from support.fake_backend import FakeBackend
from support.in_process import runs_are_played_here  # noqa: F401
from support.star_network import OPEN_WINDOW_SEGMENTS, star

from astra_ns3.network.api import EndpointModel, NetworkBackend
from astra_ns3.network.backend_makers import BACKENDS, create_backend
from astra_ns3.network.instance import pack_instance
from astra_ns3.network.plan import plan_network
from astra_ns3.network.records import RecorderOptions

DELAY_PS = 500_000
PS_PER_BYTE = 80  # 100 Gb/s
HOPS = 2

Delivery = tuple[int, int, int]  # sender, receiver, instance


class CountingFake(FakeBackend):
    """Takes down every message that its receiver has handled."""

    def __init__(self, ranks: int, endpoint: EndpointModel) -> None:
        super().__init__(ranks, latency_ps=HOPS * DELAY_PS, ps_per_byte=PS_PER_BYTE, endpoint=endpoint)
        self.delivered: Counter[Delivery] = Counter()

    def _handle(self, rank: int, instance: int, row: int) -> None:
        _, schedule, members, _ = self._parts[rank, instance]
        self.delivered[members[schedule.sender[row]], rank, instance] += 1
        super()._handle(rank, instance, row)


@dataclass
class Subject:
    """One kind of backend on hosts around a switch, with lines of 100 Gb/s and 500 ns."""

    name: str
    folder: Path
    _open: list[NetworkBackend] = field(default_factory=list)
    _folders: dict[int, Path] = field(default_factory=dict)

    def create(self, npus: int, endpoint: EndpointModel | None = None) -> NetworkBackend:
        """A backend of ``npus`` NPUs; the test's end closes it."""
        endpoint = endpoint or EndpointModel()
        if self.name == "fake":
            backend: NetworkBackend = CountingFake(npus, endpoint)
        else:
            folder = self.folder / str(len(self._open))
            folder.mkdir()
            network = star(npus, initial_window_segments=OPEN_WINDOW_SEGMENTS)
            recorder = RecorderOptions(folder, flows=True)
            backend = create_backend(self.name, plan_network(network, endpoint), seed=1, recorder=recorder)
            self._folders[id(backend)] = folder
        self._open.append(backend)
        return backend

    def deliveries(self, backend: NetworkBackend) -> Counter[Delivery]:
        """How often each message arrived; closes the backend."""
        backend.close()
        if isinstance(backend, CountingFake):
            return backend.delivered
        flows = pd.read_parquet(self._folders[id(backend)] / "flows.parquet")
        columns = ("source", "destination", "collective", "chunk", "phase")
        rows = zip(*(flows[name].tolist() for name in columns), strict=True)
        return Counter((source, to, pack_instance(*numbers)) for source, to, *numbers in rows)

    def close(self) -> None:
        for backend in self._open:
            backend.close()


Bound = Callable[[int], int]


@pytest.fixture
def least_ps() -> Bound:
    """Less than this no message of so many bytes can take: its bits on one line, and the delay of every line."""
    return lambda bytes: bytes * PS_PER_BYTE + HOPS * DELAY_PS


@pytest.fixture(params=[*BACKENDS, "fake"])
def subject(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Subject]:
    made = Subject(request.param, tmp_path)
    yield made
    made.close()
