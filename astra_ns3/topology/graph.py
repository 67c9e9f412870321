"""The network as a graph: hosts, switches, links. A description only; nothing here knows a simulator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from math import isfinite, prod

import numpy as np
import numpy.typing as npt

from astra_ns3.config.core.link import LinkConfig
from astra_ns3.config.topology.kinds import default_local
from astra_ns3.config.topology.switch import SwitchConfig
from astra_ns3.errors import refuse, whole_number, wrong
from astra_ns3.frozen import dataclass, field
from astra_ns3.units import LARGEST_INTEGER, counted
from astra_ns3.user_code import a_kind_of

MOST_LINKS = 2_000_000
"""A typing error must not fill the memory before it is seen."""
MOST_COST = 1_000_000
"""A path's cost is a sum of these and must stay far below 2**31."""

SCALE_OUT = "scale-out"
"""Class of the links of NICs of servers."""
PCIE = "pcie"
"""Class of the links between NPUs and the PCIe switches of their NICs."""
INJECTION = "injection"
"""Class of the links between NPUs and the switches that forward for them."""
SCALE_UP_INJECTION = "scale-up-injection"
"""The same inside servers."""
AXIS = "axis-"
"""Classes of the links of rings, tori and meshes begin with it."""


@dataclass(frozen=True, slots=True)
class Link:
    """A full-duplex link between nodes ``a`` and ``b``; the delay is one way.

    ``error_rate`` is the probability that a frame is lost on it, ``kind`` the class of links that it belongs to, such
    as ``scale-up`` or ``core``, ``cost`` what a shortest path counts for it. A link that isn't ``up`` is on no path
    (``changes.py``). One that is ``silent`` loses all that it is sent, and its ends don't know (``reactions.py``).
    ``storm``: bit p is set if the host at its end has the switch there stop priority p for ever. ``most_rate_bps`` and
    ``most_delay_ps``: the most that changes ever give it; 0: what it has.
    """

    a: int
    b: int
    rate_bps: int
    delay_ps: int
    error_rate: float = 0.0
    kind: str = "link"
    cost: int = 1
    up: bool = True
    silent: bool = False
    storm: int = 0
    most_rate_bps: int = 0
    most_delay_ps: int = 0

    @classmethod
    def of(cls, a: int, b: int, wire: LinkConfig, kind: str, cost: int = 1) -> Link:
        """Return a link with the keys of a file."""
        return cls(a, b, wire.rate_bps, wire.delay_ps, wire.error_rate, kind, cost)

    def stoppable_end(self, hosts: int) -> int:
        """Return the end that a NIC at the other may stop: the switch, or ``b`` of two, as NICs are at ``a``."""
        return self.b if self.b >= hosts else self.a

    def check(self, number: int) -> None:
        """Raise InputError, which names the link's number, for a field that is of another kind than said."""
        for name in ("a", "b", "rate_bps", "delay_ps", "cost"):
            whole_number(f"link {number}: {name}", getattr(self, name), 0, LARGEST_INTEGER)
        if isinstance(self.error_rate, bool) or not isinstance(self.error_rate, (int, float)):
            raise wrong(f"link {number}: error_rate is {self.error_rate!r}, expected a number")
        if not isinstance(self.kind, str) or not self.kind:
            raise wrong(f"link {number}: kind is {self.kind!r}, expected a word")


@dataclass(frozen=True, slots=True)
class Port:
    """One end of a link: the link's number and the node at its other end."""

    link: int
    peer: int


@dataclass(frozen=True, eq=False)
class Adjacency:
    """The ports of node n are entries ``offsets[n]`` to ``offsets[n + 1]`` of the others, in the order of links.

    ``offsets``: ``(nodes + 1,)``; ``peers``, ``links``, ``costs``, ``rates_bps`` and ``up``: ``(2 * links,)``.
    """

    offsets: npt.NDArray[np.int64]
    peers: npt.NDArray[np.int32]
    links: npt.NDArray[np.int32]
    costs: npt.NDArray[np.int32]
    rates_bps: npt.NDArray[np.int64]
    up: npt.NDArray[np.bool_]

    def of(self, node: int) -> slice:
        """Where the ports of ``node`` stand."""
        return slice(int(self.offsets[node]), int(self.offsets[node + 1]))


@dataclass(frozen=True)
class Graph:
    """Nodes 0 to ``hosts - 1`` are hosts, the next ``switches`` nodes are switches.

    Port p of a node is the p-th link in ``links`` that touches it; a host may have several, and it forwards nothing.
    ``npu_host`` has the host of each NPU, ``switch_configs`` all that is known of each switch,
    ``switch_buffer_bytes`` its shared buffer (either may be left out). NPUs of one host talk over ``local``.
    ``dimensions``: NPUs along each logical dimension, the innermost first; ``bandwidths``: bits per second that an NPU
    has in each. ``switch_names`` are for pictures; ``switch_levels`` and ``host_boxes``
    (which hosts stand in one box) also say what is inside servers, and who shares a rack.
    ``link_dimensions``: classes of links, each with its dimension, if it is of one alone. ``node_ids``: the number of
    each node in the file that the graph was read from, which some simulators hash to choose paths; empty: its own.
    ``forwarders``: hosts that forward, each by a switch inside it; these are the last switches, in this order.
    ``reducers``: switches (from 0) that reduce, each by a host without an NPU; these are the last hosts, in this order.
    ``storage``: hosts that store, in the order of their numbers; they stand before those of reducers.
    ``inside_levels``: switches up to this row of a picture are inside servers: with shared NICs, or in hosts that
    forward, some stand above the hosts.
    """

    hosts: int
    switches: int
    links: tuple[Link, ...]
    npu_host: tuple[int, ...]
    switch_buffer_bytes: tuple[int, ...] = ()
    switch_configs: tuple[SwitchConfig, ...] = ()
    nic_buffer_bytes: int | None = None
    local: LinkConfig = field(default_factory=default_local)
    dimensions: tuple[int, ...] = ()
    bandwidths: tuple[float, ...] = ()
    switch_levels: tuple[int, ...] = ()
    switch_names: tuple[str, ...] = ()
    host_boxes: tuple[int, ...] = ()
    link_dimensions: tuple[tuple[str, int], ...] = ()
    node_ids: tuple[int, ...] = ()
    forwarders: tuple[int, ...] = ()
    reducers: tuple[int, ...] = ()
    storage: tuple[int, ...] = ()
    inside_levels: int = 0

    def __post_init__(self) -> None:
        self._fill_in()
        for number, link in enumerate(self.links):
            self._check_link(number, link)
        refuse(
            any(not 0 <= host < self.hosts for host in self.npu_host),
            f"an NPU is on a host that does not exist; there are {self.hosts}",
        )
        refuse(
            len(self.switch_buffer_bytes) != self.switches,
            f"found {len(self.switch_buffer_bytes)} switch buffers for {self.switches} switches",
        )
        refuse(
            len(self.switch_configs) != self.switches,
            f"found {len(self.switch_configs)} switch descriptions for {self.switches} switches",
        )

    def _fill_in(self) -> None:
        """Give what was left out its value."""
        if not self.switch_configs:
            made = {size: SwitchConfig.model_validate({"buffer": size}) for size in set(self.switch_buffer_bytes)}
            object.__setattr__(self, "switch_configs", tuple(made[size] for size in self.switch_buffer_bytes))
        if not self.switch_buffer_bytes:
            buffers = tuple(config.buffer_bytes for config in self.switch_configs)
            object.__setattr__(self, "switch_buffer_bytes", buffers)
        if not self.dimensions:
            object.__setattr__(self, "dimensions", (len(self.npu_host),))

    def _check_link(self, number: int, link: Link) -> None:
        if not (0 <= link.a < self.nodes and 0 <= link.b < self.nodes) or link.a == link.b:
            raise wrong(f"link {number} joins nodes {link.a} and {link.b}, expected two of 0..{self.nodes - 1}")
        if link.rate_bps <= 0 or link.delay_ps < 0:
            raise wrong(f"link {number} has rate {link.rate_bps} b/s and delay {link.delay_ps} ps")
        if not 0 <= link.error_rate < 1:
            raise wrong(f"link {number} has error rate {link.error_rate}, expected 0 or more and below 1")
        if not 1 <= link.cost <= MOST_COST:
            raise wrong(f"link {number} has cost {link.cost}, expected 1 to {MOST_COST}")

    def check(self) -> None:
        """Raise InputError for what a graph made by hand may have wrong, and ours can't have."""
        for name in ("hosts", "switches"):
            whole_number(name, getattr(self, name), 0, MOST_LINKS)
        refuse(len(self.links) > MOST_LINKS, f"has {counted(len(self.links), 'link')}, expected at most {MOST_LINKS}")
        for number, link in enumerate(self.links):
            if not isinstance(link, Link):
                raise wrong(f"link {number} is {a_kind_of(link)}, expected a Link")
            link.check(number)
        refuse(not len(self.npu_host), "places no NPU: npu_host is empty")
        for host in self.npu_host:
            whole_number("an entry of npu_host", host, 0, self.hosts - 1)
        self._check_dimensions()
        self._check_switches()

    def _check_dimensions(self) -> None:
        npus = len(self.npu_host)
        for size in self.dimensions:
            whole_number("an entry of dimensions", size, 1, npus)
        refuse(
            prod(self.dimensions) != npus,
            f"dimensions {list(self.dimensions)} make {prod(self.dimensions)} NPUs, not {npus}",
        )
        refuse(
            not all(isinstance(rate, (int, float)) and isfinite(rate) and rate > 0 for rate in self.bandwidths),
            f"bandwidths are {self.bandwidths}, expected a number above 0 for each dimension",
        )
        _check_length("bandwidths", self.bandwidths, len(self.dimensions))
        for kind, dimension in self.link_dimensions:
            whole_number(f"link_dimensions: '{kind}'", dimension, 0, len(self.dimensions) - 1)

    def _check_switches(self) -> None:
        for config in self.switch_configs:
            refuse(
                not isinstance(config, SwitchConfig), f"switch_configs have {a_kind_of(config)}, expected SwitchConfig"
            )
        for size in self.switch_buffer_bytes:
            whole_number("an entry of switch_buffer_bytes", size, 1, LARGEST_INTEGER)
        if self.nic_buffer_bytes is not None:
            whole_number("nic_buffer_bytes", self.nic_buffer_bytes, 1, LARGEST_INTEGER)
        refuse(not isinstance(self.local, LinkConfig), f"local is {a_kind_of(self.local)}, expected a LinkConfig")
        _check_length("switch_levels", self.switch_levels, self.switches)
        _check_length("switch_names", self.switch_names, self.switches)
        _check_length("host_boxes", self.host_boxes, self.hosts)
        _check_length("node_ids", self.node_ids, self.nodes)

    @property
    def nodes(self) -> int:
        """Hosts and switches together."""
        return self.hosts + self.switches

    def is_outside(self, node: int) -> bool:
        """Whether a node is a switch outside of servers."""
        if node < self.hosts:
            return False
        return not self.switch_levels or self.switch_levels[node - self.hosts] > self.inside_levels

    def leads_out(self, link: Link) -> bool:
        """Whether a link is outside of servers."""
        if link.kind == SCALE_OUT or self.is_outside(link.a) or self.is_outside(link.b):
            return True
        npus = self.hosts - len(self.reducers) - len(self.storage)
        of_others = any(npus <= end < self.hosts for end in (link.a, link.b))
        return self._is_mesh and link.kind != INJECTION and not of_others

    @cached_property
    def _is_mesh(self) -> bool:
        """Whether lines between NPUs are all that is outside of servers: each host is one, and switches are in them."""
        levels = self.switch_levels or (1,) * self.switches
        inside = all(0 < level <= self.inside_levels for level in levels)
        return not self.host_boxes and inside and not any(link.kind == SCALE_OUT for link in self.links)

    @cached_property
    def injection_ports(self) -> Mapping[int, int]:
        """Return the port of each switch beside a host, or beside a server on a grid, that leads there."""
        on_grid = {end for link in self.links if link.kind.startswith(AXIS) for end in (link.a, link.b)}
        found = {}
        for node in range(self.hosts, self.nodes):
            for number, port in enumerate(self.ports[node]):
                kind = self.links[port.link].kind
                if kind in {INJECTION, SCALE_UP_INJECTION} or (kind == SCALE_OUT and node in on_grid):
                    found[node] = number
        return found

    @cached_property
    def inner_switch(self) -> Mapping[int, int]:
        """The switch, as a node, inside each host that forwards; it has the host's lines."""
        return dict(zip(self.forwarders, range(self.nodes - len(self.forwarders), self.nodes), strict=True))

    @cached_property
    def player_host(self) -> tuple[int, ...]:
        """The host of each NPU, then of each reducer, then those that store: of all that send messages."""
        return (*self.npu_host, *range(self.hosts - len(self.reducers), self.hosts), *self.storage)

    @cached_property
    def ports(self) -> tuple[tuple[Port, ...], ...]:
        """The ports of each node."""
        found: list[list[Port]] = [[] for _ in range(self.nodes)]
        for number, link in enumerate(self.links):
            found[link.a].append(Port(number, link.b))
            found[link.b].append(Port(number, link.a))
        return tuple(tuple(ports) for ports in found)

    @cached_property
    def ends(self) -> npt.NDArray[np.int64]:
        """The two nodes of each link, shape ``(links, 2)``."""
        return np.array([(link.a, link.b) for link in self.links], dtype=np.int64).reshape(-1, 2)

    @cached_property
    def adjacency(self) -> Adjacency:
        """The same as arrays."""
        columns = [(link.cost, link.rate_bps, link.up) for link in self.links]
        table = np.array(columns, dtype=np.int64).reshape(len(columns), 3)
        ends = self.ends.ravel()
        order = np.argsort(ends, kind="stable")
        links = order // 2
        counts = np.bincount(ends, minlength=self.nodes)
        return Adjacency(
            offsets=np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
            peers=self.ends[:, ::-1].ravel()[order].astype(np.int32),
            links=links.astype(np.int32),
            costs=table[links, 0].astype(np.int32),
            rates_bps=table[links, 1],
            up=table[links, 2].astype(np.bool_),
        )


def _check_length(name: str, values: Sequence[object], count: int) -> None:
    refuse(
        bool(values and len(values) != count),
        f"{name} has {counted(len(values), 'entry', 'entries')}, expected {count} or none",
    )
