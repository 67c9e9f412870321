"""Failures at random: which device fails when, drawn before the run, as events of a scenario.

Each device fails by itself: the time from a repair to its next failure is exponentially distributed. The draws of a
device depend on the seed and its number alone, so that other devices change nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random

from astra_ns3.config.scenario.failures import HOURS_PER_DAY, KINDS, PS_PER_HOUR, DeviceFailures, FailuresConfig, Repair
from astra_ns3.config.scenario.file import MOST_EVENTS, EventConfig
from astra_ns3.errors import refuse
from astra_ns3.frozen import dataclass
from astra_ns3.topology.graph import Graph
from astra_ns3.topology.ports import nic_ports, port_name
from astra_ns3.topology.reducers import REDUCTION


@dataclass(frozen=True)
class Published:
    """Failures that somebody counted in a cluster: how many in so many days with so many NPUs, each with a NIC.

    ``network``: of switches and cables, which the source doesn't tell apart.
    """

    source: str
    days: int
    npus: int
    network: int
    nic: int

    def per_npu_ps(self, failures: int) -> float:
        """Return failures in a picosecond for each NPU of a cluster."""
        return failures / self.npus / (self.days * HOURS_PER_DAY * PS_PER_HOUR)


PUBLISHED: Mapping[str, Published] = {
    "llama-3": Published("Llama 3 405B, 54 days on 16,384 H100, its table of interruptions", 54, 16_384, 35, 7),
}
"""Published sets by name: 42 events of the network in all are 4.7e-5 an NPU and day."""


@dataclass(frozen=True)
class _Device:
    """A device that may fail: its kind, how an event names it, how often it fails in a picosecond, and its repair."""

    kind: str
    named: int | str
    per_ps: float
    repair: int | Repair | None


def drawn(failures: FailuresConfig, graph: Graph, seed: int) -> list[EventConfig]:
    """Return the failures as events, in the order of time; ``seed``: the run's. Raises InputError for too many."""
    devices = list(_devices(failures, graph))
    span_ps = failures.until_ps - failures.from_ps
    expected = span_ps * failures.scale * sum(device.per_ps for device in devices)
    refuse(
        expected > MOST_EVENTS,
        f"about {expected:,.0f} failures are to come, expected at most {MOST_EVENTS:,}; lower scale, or the rates",
    )
    seed = seed if failures.seed is None else failures.seed
    found = [event for device in devices for event in _failures_of(device, failures, seed)]
    return sorted(found, key=lambda event: event.at_ps)


def _failures_of(device: _Device, failures: FailuresConfig, seed: int) -> Iterator[EventConfig]:
    draws = Random(f"{seed} {device.kind} {device.named}")
    time_ps = failures.from_ps
    while True:
        time_ps += round(draws.expovariate(device.per_ps * failures.scale))
        if time_ps >= failures.until_ps:
            return
        for_ps = _repair_ps(device.repair, draws)
        keys = {"at": f"{time_ps}ps", device.kind: device.named, "up": False}
        yield EventConfig.model_validate(keys if for_ps is None else {**keys, "for": f"{for_ps}ps"})
        if for_ps is None:
            return
        time_ps += for_ps


def _repair_ps(repair: int | Repair | None, draws: Random) -> int | None:
    if isinstance(repair, Repair):
        return max(1, round(draws.expovariate(1 / repair.mean_ps)))
    return repair


def _devices(failures: FailuresConfig, graph: Graph) -> Iterator[_Device]:
    """Yield every device that may fail; raises InputError for a kind that the network lacks."""
    for kind, own in failures.given.items():
        named = NAMED[kind](graph)
        refuse(not named, f"the network has no {kind} that could fail, expected one")
        yield from _alike(kind, named, own)
    if failures.rates is not None:
        yield from _published(PUBLISHED[failures.rates], failures, graph)


def _alike(kind: str, named: Sequence[int | str], own: DeviceFailures) -> Iterator[_Device]:
    yield from (_Device(kind, name, own.per_ps, own.repair) for name in named)


def _published(published: Published, failures: FailuresConfig, graph: Graph) -> Iterator[_Device]:
    """Yield devices of a published set: so many failures an NPU, each device of the network as often as any other."""
    npus = len(graph.npu_host)
    for kinds, count in ((("switch", "link"), published.network), (("nic",), published.nic)):
        named = [(kind, name) for kind in kinds for name in NAMED[kind](graph)]
        per_ps = published.per_npu_ps(count) * npus / len(named) if named else 0.0
        yield from (_Device(kind, name, per_ps, failures.repair) for kind, name in named if kind not in failures.given)


def _links(graph: Graph) -> list[int]:
    return [number for number, link in enumerate(graph.links) if link.kind != REDUCTION and graph.leads_out(link)]


def _switches(graph: Graph) -> list[int]:
    return [number for number in range(graph.switches) if graph.is_outside(graph.hosts + number)]


def _nics(graph: Graph) -> list[str]:
    return [port_name(graph.hosts, *port) for port in nic_ports(graph, sorted(set(graph.npu_host)))]


NAMED: Mapping[str, Callable[[Graph], Sequence[int | str]]] = dict(
    zip(KINDS, (_links, _switches, _nics, lambda graph: range(len(graph.npu_host))), strict=True)
)
"""Devices of each kind that may fail, as events name them; those inside a server don't."""
