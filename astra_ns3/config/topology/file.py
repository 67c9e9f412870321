"""Topology keys: a graph that a user brings as a file."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

from annotated_types import Ge, Lt
from pydantic import (
    BeforeValidator,
    Field,
    PrivateAttr,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from astra_ns3.config.core.model import FOLDER, RateBps, checked, key_error, refuse_key, shown
from astra_ns3.config.core.reading import read_text
from astra_ns3.config.core.yaml_document import parse_yaml
from astra_ns3.config.formats.analytical import AnalyticalDimension, analytical_version, parse_grid
from astra_ns3.config.formats.graphml import parse_graphml
from astra_ns3.config.formats.graphs.completing import complete
from astra_ns3.config.formats.graphs.completion import Attributes, Completion, Hosts, LinkDefaults
from astra_ns3.config.formats.graphs.gml import LOOKS_LIKE_GML, parse_gml
from astra_ns3.config.formats.graphs.raw import RawGraph
from astra_ns3.config.formats.hpcc_graph import hpcc_graph
from astra_ns3.config.formats.hpcc_topology import parse_hpcc_topology
from astra_ns3.config.formats.htsim_topology import looks_like_htsim, parse_htsim_topology
from astra_ns3.config.formats.infragraph.graph import looks_like_infragraph, parse_infragraph
from astra_ns3.config.formats.node_link import parse_node_link
from astra_ns3.config.formats.plain_graph import PlainGraph
from astra_ns3.config.topology.base import Forwarding, GivenGraph, times
from astra_ns3.config.topology.switch import SwitchConfig
from astra_ns3.errors import nearest, refuse, wrong
from astra_ns3.frozen import replace
from astra_ns3.units import counted

if TYPE_CHECKING:
    from typing_extensions import Self

Grid = tuple[AnalyticalDimension, ...]
BITS_PER_BYTE_PER_NS = 8e9
# Of a file that is no graph, so many are told.
_MOST_KEYS = 8


def _astra_sim(text: str, path: str) -> Grid:
    document = parse_yaml(text, path)
    if analytical_version(document.data) is None:
        data = document.data
        keys = ", ".join(map(str, list(data)[:_MOST_KEYS])) if isinstance(data, Mapping) else ""
        found = f"the keys {keys}" if keys else "no keys"
        raise wrong(
            f"found {found}, expected those of a graph: ASTRA-sim's (topology, npus_count, bandwidth, latency) "
            "or InfraGraph's (devices, instances), whose annotations are a file that isn't read",
            path,
        )
    return parse_grid(document)


class GraphFormat(NamedTuple):
    """Reads ``(text, path)``; ``endings``: of files that have this format where ``looks_like`` tells no other.

    ``looks_like``: whether a text is of this format, whatever the file is called.
    """

    read: Callable[[str, str], PlainGraph | RawGraph | Grid]
    endings: tuple[str, ...]
    looks_like: Callable[[str], bool] | None = None


# ``nodes switches links``, or SimAI's ``nodes gpus_per_server nvswitches switches links gpu_type``.
_HPCC_FIRST_LINE = re.compile(
    r"\s*[0-9]+(?:[ \t]+[0-9]+){2}(?:(?:[ \t]+[0-9]+){2}[ \t]+\S+)?[ \t]*\r?(?:\n|$)", re.ASCII
)

FORMATS: Mapping[str, GraphFormat] = {
    "hpcc": GraphFormat(
        lambda text, path: hpcc_graph(parse_hpcc_topology(text, path)),
        (".txt",),
        lambda text: _HPCC_FIRST_LINE.match(text) is not None,
    ),
    "graphml": GraphFormat(parse_graphml, (".graphml", ".xml"), lambda text: text.lstrip().startswith("<")),
    "astra-sim": GraphFormat(
        _astra_sim, (".yaml", ".yml"), lambda text: '"units-count"' in text or '"npus_count"' in text
    ),
    "infragraph": GraphFormat(parse_infragraph, (), looks_like_infragraph),
    "node-link": GraphFormat(parse_node_link, (".json",), lambda text: text.lstrip().startswith("{")),
    "htsim": GraphFormat(parse_htsim_topology, (".topo",), looks_like_htsim),
    "gml": GraphFormat(parse_gml, (".gml",), lambda text: LOOKS_LIKE_GML.search(text) is not None),
}
"""Asked in this order what a file looks like."""


def _known_format(name: object) -> object:
    if name not in FORMATS:
        raise ValueError(f"found {shown(name)}, allowed: {', '.join(FORMATS)}{nearest(str(name), FORMATS)}")
    return name


_Format = Annotated[str, BeforeValidator(_known_format), WithJsonSchema({"type": "string", "enum": list(FORMATS)})]


class FileTopology(GivenGraph):
    """A graph in a format of another program, read when the network file is read. In GraphML, GML and node-link JSON a
    node has `kind` (`host` or `switch`), a switch also `buffer`, `label` and `level` (the row in a picture). A link has
    `rate` and `delay` (needed), `error_rate`, `kind` (its class), and `cost` (1 unless given). The graph may have
    `forwarding: hosts`, and `dimensions`: a list in JSON, text such as `4 2` elsewhere, the innermost first. Switches
    up to the graph's `inside_levels` (0 unless given) are inside servers."""

    kind: Literal["file"]
    path: str
    """In a file, as seen from that file's folder; here, from the folder that the program runs in."""
    format: _Format | None = None
    """The format of the graph. Absent: told by the content, or else by the ending."""
    switch: SwitchConfig | None = None
    """Every switch, unless its entry in the file has a buffer of its own. Only a graph without switches needs none."""
    scale_up_switch: SwitchConfig | None = None
    """Switches inside servers, where the file says which they are; absent: as ``switch``."""
    error_rate: Annotated[float, Ge(0), Lt(1)] = 0.0
    """The error rate of every link that has none of its own."""
    hosts: Hosts | None = None
    """Which nodes are hosts, where the file doesn't say so in our words."""
    attributes: Attributes | None = None
    """The names that the file has for its attributes."""
    defaults: LinkDefaults | None = None
    """Values of links whose rate or delay the file doesn't say."""
    links: Mapping[str, LinkDefaults] | None = None
    """The same for links of one class."""
    rates_bps: tuple[RateBps, ...] | None = Field(alias="rates", default=None)
    """The bandwidth of a message in each dimension of ASTRA-sim's network, the innermost first. Absent: as in the
    file."""
    _content: PlainGraph | Grid | None = PrivateAttr(default=None)
    _speed: float = PrivateAttr(default=1)
    """So many times as fast as in the file are the links of a graph."""

    @field_validator("path")
    @classmethod
    def _beside_the_file(cls, path: str, info: ValidationInfo) -> str:
        return str(Path((info.context or {}).get(FOLDER, "")) / path)

    @model_validator(mode="after")
    @checked
    def _says_all_switches(self) -> None:
        content = self.content()
        has_switches = not isinstance(content, PlainGraph) or len(content.hosts) < len(content.nodes)
        refuse_key(
            self.switch is None and has_switches,
            "switch",
            f"is missing; {self.path} has switches, which need at least switch.buffer",
        )

    @property
    def each_switch(self) -> SwitchConfig:
        """The keys of every switch, of a file that has some."""
        assert self.switch is not None
        return self.switch

    def content(self) -> PlainGraph | Grid:
        """Return the content of the file: a graph, or the dimensions of an analytical network."""
        if self._content is None:
            completion = Completion(
                hosts=self.hosts, attributes=self.attributes, defaults=self.defaults, links=self.links
            )
            self._content = self._sped_up(read_graph_file(self.path, self.format, completion))
        return self._content if self.rates_bps is None else self._with_rates(self._content, self.rates_bps)

    def _sped_up(self, content: PlainGraph | Grid) -> PlainGraph | Grid:
        if self._speed == 1 or not isinstance(content, PlainGraph):
            return content
        return replace(content, links=tuple(times(link, self._speed) for link in content.links))

    def _with_rates(self, content: PlainGraph | Grid, rates_bps: tuple[int, ...]) -> Grid:
        """Return the dimensions with other bandwidths. Raises the error of a key; validation asks first."""
        if isinstance(content, PlainGraph):
            raise key_error("rates", "stands beside a graph, whose links have rates of their own; leave it out")
        count = len(content)
        refuse_key(
            len(rates_bps) != count,
            "rates",
            f"has {counted(len(rates_bps), 'entry', 'entries')}, expected {count}: one a dimension",
        )
        pairs = zip(content, rates_bps, strict=True)
        return tuple(
            each.model_copy(update={"bytes_per_ns": rate_bps / BITS_PER_BYTE_PER_NS}) for each, rate_bps in pairs
        )

    def forwards(self) -> Forwarding | None:
        """Return what the network file says, or else the graph itself."""
        content = self.content()
        said = isinstance(content, PlainGraph) and content.forwards
        return self.forwarding or (Forwarding(by="hosts") if said else None)

    def npu_count(self) -> int:
        """How many NPUs the topology joins."""
        content = self.content()
        return len(content.hosts) if isinstance(content, PlainGraph) else prod(each.npus for each in content)

    def built_dimensions(self) -> tuple[int, ...]:
        """Return the dimensions of an analytical network; a graph has one."""
        content = self.content()
        if isinstance(content, PlainGraph):
            return (len(content.hosts),)
        return tuple(dimension.npus for dimension in content)

    @property
    def logical_dimensions(self) -> tuple[int, ...]:
        """Return the dimensions that the network file says, or the graph, or else those that it is built with."""
        content = self.content()
        said = content.dimensions if isinstance(content, PlainGraph) else ()
        return self.dimensions or said or self.built_dimensions()

    def line_rates(self) -> tuple[float, ...]:
        """Return what all lines of an NPU carry in each dimension."""
        content = self.content()
        built = self.built_bandwidths()
        if isinstance(content, PlainGraph):
            return built
        return tuple(rate_bps * each.ports for rate_bps, each in zip(built, content, strict=True))

    def scaled(self, factors: Sequence[float]) -> Self:
        """Return the topology with other bandwidths of dimensions; raises InputError for a graph."""
        refuse(isinstance(self.content(), PlainGraph), "is a graph whose links belong to no dimension", self.path)
        rates_bps = [max(1, round(old * factor)) for old, factor in zip(self.built_bandwidths(), factors, strict=True)]
        return self.model_copy(update={"rates_bps": tuple(rates_bps)})

    def faster(self, factor: float) -> Self:
        """Return the topology with all links so many times as fast, those of a graph, too."""
        if not isinstance(self.content(), PlainGraph):
            return super().faster(factor)
        found = self.model_copy()
        found._speed, found._content = self._speed * factor, None
        return found

    def nic_count(self) -> int:
        """Return one for each NPU, if switches join NPUs in the outermost dimension of an analytical network."""
        content = self.content()
        return self.npu_count() if isinstance(content, PlainGraph) or content[-1].topology == "switch" else 0

    def built_bandwidths(self) -> tuple[float, ...]:
        """A message's bandwidth in each dimension; of a graph, the rates of the links of its slowest host together."""
        content = self.content()
        if not isinstance(content, PlainGraph):
            return tuple(dimension.bytes_per_ns * BITS_PER_BYTE_PER_NS for dimension in content)
        rates = dict.fromkeys(content.hosts, 0)
        for ends, link in zip(content.ends, content.links, strict=True):
            for end in ends:
                if end in rates:
                    rates[end] += link.rate_bps
        return (float(min(rates.values())),)


def read_graph_file(
    path: str, format_name: str | None = None, completion: Completion | None = None
) -> PlainGraph | Grid:
    """Read a file in one of ``FORMATS``, told by what is in it if not named; raises InputError with file and line."""
    text = read_text(path)
    name = format_name or _format(path, text)
    found, said = FORMATS[name].read(text, path), completion or Completion()
    if isinstance(found, RawGraph):
        return complete(found, said)
    if said.given:
        keys = ", ".join(key for key, value in said if value is not None)
        raise wrong(f"format {name} says all of a network; leave out {keys}", path)
    return found


def format_of(text: str) -> str | None:
    """The name of the format that a text looks like, if any."""
    return next((name for name, known in FORMATS.items() if known.looks_like and known.looks_like(text)), None)


def _format(path: str, text: str) -> str:
    found = format_of(text)
    if found is not None:
        return found
    suffix = Path(path).suffix.lower()
    for name, known in FORMATS.items():
        if suffix in known.endings:
            return name
    endings = ", ".join(ending for known in FORMATS.values() for ending in known.endings)
    raise wrong(
        f"neither what is in it nor the ending '{suffix}' tells a format; end it in {endings} or add "
        f"'format': {', '.join(FORMATS)}",
        path,
    )
