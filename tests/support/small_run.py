"""A training loop small enough for the fake backend, and backends that stop in every way a run can stop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from astra_ns3.config.network.packet_network import NetworkConfig, parse_network
from astra_ns3.config.system import SystemConfig
from astra_ns3.config.workload import Workload
from astra_ns3.network.api import Limits, NetworkListener
from astra_ns3.system.file import parse_system
from astra_ns3.workload.files.astra_sim import parse_workload
from support.fake_backend import FakeBackend

NPUS = 4
WORKLOAD = """DATA
2
first -1 1000 NONE 0 1000 NONE 0 1000 ALLREDUCE 4000 10
second -1 2000 NONE 0 2000 NONE 0 2000 ALLREDUCE 8000 0
"""
SYSTEM = """scheduling-policy: LIFO
endpoint-delay: 10
active-chunks-per-dimension: 1
preferred-dataset-splits: 2
all-reduce-implementation: ring
reduce-scatter-implementation: ring
all-gather-implementation: ring
all-to-all-implementation: direct
collective-optimization: baseline
"""
NETWORK = f"""topology:
  kind: single-switch
  npus: {NPUS}
  link: {{rate: 100Gbps, delay: 500ns}}
  switch: {{buffer: 1GB}}
transport: {{kind: tcp}}
"""


def small_workload() -> Workload:
    return parse_workload(WORKLOAD, "small.txt")


def small_system(**keys: object) -> SystemConfig:
    pairs = (line.split(": ") for line in SYSTEM.splitlines())
    return parse_system({**{key: int(value) if value.isdigit() else value for key, value in pairs}, **keys})


def small_network(npus_per_host: int = 1, npus: int = NPUS) -> NetworkConfig:
    link = {"rate": "100Gbps", "delay": "500ns"}
    topology = {"npus": npus, "npus_per_host": npus_per_host, "link": link, "switch": {"buffer": "1GB"}}
    return parse_network({"topology": {"kind": "single-switch", **topology}, "transport": {"kind": "tcp"}})


def small_run() -> dict[str, Any]:
    """Arguments of ``run``: a fresh backend each time, for a backend plays once."""
    return {
        "workload": small_workload(),
        "system": small_system(),
        "network": small_network(),
        "backend": FakeBackend(NPUS),
    }


def write_inputs(folder: Path) -> dict[str, Any]:
    """The three files of a small run, by option name."""
    texts = {"workload": WORKLOAD, "system": SYSTEM, "network": NETWORK}
    paths = {name: folder / f"{name}{'.yaml' if name == 'network' else '.txt'}" for name in texts}
    for name, path in paths.items():
        path.write_text(texts[name], encoding="utf-8")
    return {name: str(path) for name, path in paths.items()}


class BeatingBackend(FakeBackend):
    """Beats once per finished phase, with the number of phases so far as events."""

    def run(self, listener: NetworkListener, limits: Limits) -> None:
        self._beats = 0
        super().run(_Beating(listener, self), limits)

    def beat(self, listener: NetworkListener) -> None:
        self._beats += 1
        listener.heartbeat(self.now_ps(), self._beats)


class InterruptedBackend(BeatingBackend):
    """Ctrl-C comes after a few phases."""

    def beat(self, listener: NetworkListener) -> None:
        super().beat(listener)
        if self._beats == 20:
            raise KeyboardInterrupt


class _Beating:
    def __init__(self, listener: NetworkListener, backend: BeatingBackend) -> None:
        self._listener = listener
        self._backend = backend

    def phase_done(self, rank: int, instance: int, time_ps: int) -> None:
        self._listener.phase_done(rank, instance, time_ps)
        self._backend.beat(self._listener)

    def heartbeat(self, time_ps: int, events: int) -> None:
        self._listener.heartbeat(time_ps, events)
