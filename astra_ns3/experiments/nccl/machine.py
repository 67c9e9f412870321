"""The servers, network and NCCL that a measurement asks for."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

from astra_ns3.collectives.schedule import Tell, silent
from astra_ns3.config.core.document import Document
from astra_ns3.config.core.model import validated
from astra_ns3.config.core.plain import Json
from astra_ns3.config.nccl import NcclConfig
from astra_ns3.config.network.file import AnyNetwork, read_network_file
from astra_ns3.config.system import SystemConfig
from astra_ns3.errors import failing, refuse, wrong
from astra_ns3.experiments.nccl.bench import BenchRow, Case, bench, system_of
from astra_ns3.experiments.nccl.network_of_servers import network_of
from astra_ns3.experiments.nccl.servers_of_network import (
    UNLIKE,
    Place,
    as_nccl_asks,
    place_of,
    server_at,
    unlike_nics,
    unlike_rates,
    unlike_server,
)
from astra_ns3.experiments.network_parts.formula_lines import formula_warnings
from astra_ns3.frozen import dataclass, replace
from astra_ns3.nccl.communicator import Communicator
from astra_ns3.nccl.fitting import parse_fit
from astra_ns3.nccl.point_to_point import why_no_pxn
from astra_ns3.nccl.server import Server
from astra_ns3.nccl.servers import parse_servers
from astra_ns3.network.plan import plan_network
from astra_ns3.system.groups import Grid
from astra_ns3.system.nccl.planner import NcclPlanner
from astra_ns3.units import counted

USUAL_VERSION = "2.30"


@dataclass(frozen=True)
class Machine:
    """A network with NCCL on it. ``words`` describe it; ``keys`` are those of the table ``nccl``."""

    words: str
    server: Server
    servers: int
    gpus: int
    network: AnyNetwork
    keys: Mapping[str, Json]
    backend: str
    unlike: tuple[str, ...] = ()
    """A line for each point in which the network differs from the server."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """Settings that change nothing, and in which points the network differs from the server or from NCCL's."""
        played = as_nccl_asks(self.network, self._system)
        lines = formula_warnings(plan_network(played), self.backend)
        return *self._system.warnings, *self.unlike, *unlike_nics(self._system, played, self.backend), *lines

    @cached_property
    def table(self) -> NcclConfig:
        """The table ``nccl``."""
        return _table(self.keys)

    @cached_property
    def communicator(self) -> Communicator:
        """All GPUs, as NCCL's tuner sees them."""
        assert self._system.nccl is not None
        world = Grid((self.network.npus,))
        return NcclPlanner(self._system.nccl, world, self._system.reduction_trees).communicator((0,))

    @cached_property
    def _system(self) -> SystemConfig:
        return system_of(self.network, self.table, self.backend)

    def ways(self, operation: str) -> str | None:
        """Return how an operation's messages leave a server, by NCCL's PXN or not; None if none do as messages."""
        if operation not in ("alltoall", "sendrecv") or self.servers == 1:
            return None
        why = why_no_pxn(self.communicator)
        if why is None:
            return "PXN: over NVLink to the GPU with the peer's number, which sends by its own NIC"
        return f"no PXN: {why}; each GPU sends by its own NIC"

    def with_keys(self, keys: Mapping[str, Json]) -> Machine:
        """Return the same with other keys besides. Raises InputError."""
        found = replace(self, keys={**self.keys, **keys})
        _ = found.table
        return found

    def bench(self, operation: str, sizes: Sequence[int], seed: int = 1, tell: Tell = silent) -> list[BenchRow]:
        """Measure an operation at each size; ``tell`` hears beforehand what takes long."""
        return self.bench_cases(operation, [Case(size) for size in sizes], seed, tell)

    def bench_cases(self, operation: str, cases: Sequence[Case], seed: int = 1, tell: Tell = silent) -> list[BenchRow]:
        """Measure an operation in each case."""
        return bench(operation, cases, self.network, self.table, backend=self.backend, seed=seed, tell=tell)


def machine_of(
    servers: str | None,
    gpus: int | None = None,
    network: str | os.PathLike[str] | None = None,
    nccl_version: str | None = None,
    changes: Sequence[str] = (),
    backend: str = "flow",
    fit: str | os.PathLike[str] | None = None,
) -> Machine:
    """Read what was asked for; raises InputError.

    ``servers``: how many of which, as ``2xdgx-h100``; None: those of the network file. ``changes``: ``KEY=VALUE`` of
    the table ``nccl``, which replace what ``fit`` says, a file that ``nccl fit`` wrote.
    """
    if servers is None:
        refuse(gpus is not None or fit is not None, f"--{'fit' if gpus is None else 'gpus'} needs --servers")
        if network is None:
            raise wrong("--servers is missing, expected such as 2xdgx-h100, or -n FILE for servers of a network file")
        return _of_file(network, nccl_version, changes, backend)
    count, server = parse_servers(servers)
    used = server.gpus if gpus is None else gpus
    refuse(used > server.gpus, f"--gpus: found {used}, expected at most the {server.gpus} of server '{server.name}'")
    fitted: Mapping[str, Json] = {} if fit is None else _fit_for(fit, server)
    given = {"version": nccl_version or USUAL_VERSION, "server": server.name, **fitted}
    keys = {**given, **_changed(changes, given)}
    reduces = bool(_table(keys).variables.collnet_enable)
    found: AnyNetwork = (
        network_of(server, count, used, reduces=reduces) if network is None else read_network_file(network).network
    )
    place = _checked_place(found, count, used)
    words = f"{count} x {server.name}{_taken_for(keys, server.name)}" + f" ({used} GPUs each)" * (gpus is not None)
    unlike = (
        ()
        if network is None
        else tuple(
            f"-n: the network file's {found}, those of server '{server.name}' {of_server}: {UNLIKE}"
            for found, of_server in unlike_rates(server, place, count)
        )
    )
    machine = Machine(words, server, count, used, found, keys, backend, unlike)
    return machine.with_keys({})


def _checked_place(network: AnyNetwork, servers: int, gpus: int) -> Place:
    """Return the servers of a network; raises InputError unless they are so many of so many GPUs."""
    place = place_of(network)
    refuse(
        network.npus != servers * gpus,
        f"-n: the network has {network.npus} NPUs, expected {servers * gpus}: {servers} servers of {gpus} GPUs",
    )
    refuse(
        place.npus != gpus,
        f"-n: the network puts {place.npus} NPUs in a server, expected {gpus}: {servers} servers of {gpus} GPUs",
    )
    _check_several(network)
    return place


def _check_several(network: AnyNetwork) -> None:
    refuse(network.npus == 1, "one GPU alone has nobody to send to; expected at least two")


def _of_file(path: str | os.PathLike[str], nccl_version: str | None, changes: Sequence[str], backend: str) -> Machine:
    """Return the servers of a network file: Hopper GPUs, with the ports that the file gives them."""
    network, given = read_network_file(path).network, {"version": nccl_version or USUAL_VERSION}
    place = place_of(network)
    count, keys = network.npus // place.npus, {**given, **_changed(changes, given)}
    _check_several(network)
    taken = _taken_for(keys) or ", taken for one of Hopper GPUs"
    words = f"{count} x server of {os.fspath(path)}{taken} ({counted(place.npus, 'GPU')} each)"
    unlike = tuple(unlike_server(_table(keys), network, "--set server"))
    machine = Machine(words, server_at(place), count, place.npus, network, keys, backend, unlike)
    return machine.with_keys({})


def _taken_for(keys: Mapping[str, Json], known: str | None = None) -> str:
    """Return what servers are for NCCL by ``--set server``, if not ``known``, in words; else nothing."""
    return "" if keys.get("server") in (None, known) else f", taken for {keys['server']}"


def _table(keys: Mapping[str, Json]) -> NcclConfig:
    return validated(NcclConfig, Document("nccl", dict(keys)), {})


def _changed(changes: Sequence[str], given: Mapping[str, Json]) -> dict[str, Json]:
    """Return the keys of ``KEY=VALUE`` words; ``host-overhead.LL=2`` is one key of the group that is ``given``."""
    keys: dict[str, Json] = {}
    for change in changes:
        key, equals, value = change.partition("=")
        refuse(not key or not equals or not value, f"--set: found '{change}', expected KEY=VALUE")
        group, dot, inner = key.partition(".")
        known = keys.get(group, given.get(group, {}))
        refuse(
            bool(dot) and not isinstance(known, Mapping),
            f"--set: found '{change}' beside {group} {known}, expected one or the other",
        )
        keys[group] = {**known, inner: value} if dot and isinstance(known, Mapping) else value
    return keys


def _fit_for(path: str | os.PathLike[str], server: Server) -> Mapping[str, Json]:
    with failing(OSError, "can't be read", path):
        text = Path(path).read_text(encoding="utf-8", errors="replace")
    keys = parse_fit(text, path)
    refuse(
        keys["server"] != server.name,
        f"the fit is of server '{keys['server']}', expected '{server.name}', as --servers says",
        path,
    )
    return keys
