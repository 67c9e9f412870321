"""Topology keys: a graph that a function of the user's gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Protocol, runtime_checkable

from pydantic import AfterValidator, BeforeValidator, Field, PrivateAttr, WithJsonSchema

from astra_ns3.config.core.model import as_value_error, shown
from astra_ns3.config.topology.base import GivenGraph
from astra_ns3.errors import InputError, required, wrong
from astra_ns3.units import parse_any
from astra_ns3.user_code import FORM, UserPart, a_kind_of, check_user_file, describe_failure, load_pure_part, user_part

if TYPE_CHECKING:
    from typing_extensions import Self


class HostLink(Protocol):
    """A link, as the keys of a topology see it."""

    @property
    def a(self) -> int:
        """A node."""

    @property
    def b(self) -> int:
        """The other node."""

    @property
    def rate_bps(self) -> int:
        """Its rate."""


@runtime_checkable
class BuiltGraph(Protocol):
    """A :class:`~astra_ns3.topology.graph.Graph` as the keys of a topology see it; its room lies above."""

    @property
    def npu_host(self) -> tuple[int, ...]:
        """The host of each NPU."""

    @property
    def links(self) -> Sequence[HostLink]:
        """All links."""

    @property
    def dimensions(self) -> tuple[int, ...]:
        """NPUs along each dimension."""

    @property
    def bandwidths(self) -> tuple[float, ...]:
        """Return the rates of an NPU in each dimension; empty: not said."""

    def check(self) -> None:
        """Raise InputError for what a graph made by hand may have wrong."""


def _own_kind(value: str) -> str:
    part = required(user_part(value), f"found {shown(value)}, expected {FORM}")
    check_user_file(Path(part.file), "topology")
    return value


def plain_values(values: object) -> object:
    """Quantities in base units, lists as tuples; all else as it is."""
    if isinstance(values, Mapping):
        return {str(name): _plain_value(str(name), value) for name, value in values.items()}
    return values


def _plain_value(name: str, value: object) -> object:
    if isinstance(value, (list, tuple)):
        return tuple(_plain_value(name, each) for each in value)
    if isinstance(value, str):
        number = parse_any(value)
        return value if number is None else number
    if isinstance(value, (bool, int, float)):
        return value
    raise ValueError(f"'{name}' is {shown(value)}, expected a number, on or off, a word, a quantity or a list of them")


_KIND = WithJsonSchema({"type": "string", "pattern": r"\.py:[A-Za-z_]\w*$", "examples": [FORM]})
_PARAMETERS = WithJsonSchema(
    {"type": "object", "additionalProperties": {"type": ["boolean", "number", "string", "array"]}}
)


class OwnTopology(GivenGraph):
    """A graph that a function of the user's gives, ``FILE.py:name``, called once with the parameters."""

    kind: Annotated[str, AfterValidator(as_value_error(_own_kind)), _KIND]
    """`FILE.py:name`, a function that gives a graph. The path begins at the working folder."""
    parameters: Annotated[dict[str, object], BeforeValidator(plain_values), _PARAMETERS] = Field(default_factory=dict)
    """The function's arguments by name; quantities become bits per second, picoseconds or bytes."""
    _graph: BuiltGraph | None = PrivateAttr(default=None)

    @property
    def part(self) -> UserPart:
        """The function."""
        part = user_part(self.kind)
        assert part is not None
        return part

    def built(self) -> BuiltGraph:
        """Return the graph that the function gives; raises InputError with its file if it fails or gives no graph."""
        if self._graph is None:
            found = load_pure_part(self.part, "topology")(**self.parameters)
            if not isinstance(found, BuiltGraph):
                raise wrong(f"gave {a_kind_of(found)}, expected a Graph (astra_ns3.topology.graph)", str(self.part))
            try:
                found.check()
            except InputError as error:
                raise wrong(str(error), str(self.part)) from error
            except (TypeError, ValueError, AttributeError) as error:
                raise wrong(f"gave a Graph of odd parts: {describe_failure(error)}", str(self.part)) from error
            self._graph = found
        return self._graph

    def scaled(self, factors: Sequence[float]) -> Self:
        """The function alone knows which parameters are rates: raises InputError."""
        raise wrong("makes a graph whose rates its function decides", str(self.part))

    def npu_count(self) -> int:
        """How many NPUs the topology joins."""
        return len(self.built().npu_host)

    def built_dimensions(self) -> tuple[int, ...]:
        """Return the dimensions of the graph."""
        return tuple(self.built().dimensions)

    def built_bandwidths(self) -> tuple[float, ...]:
        """Return the rates of the graph, or in each dimension those of its slowest host's links together."""
        graph = self.built()
        if len(graph.bandwidths) == len(graph.dimensions):
            return tuple(graph.bandwidths)
        rates = dict.fromkeys(graph.npu_host, 0)
        for link in graph.links:
            for end in (link.a, link.b):
                if end in rates:
                    rates[end] += link.rate_bps
        return (float(min(rates.values())),) * len(graph.dimensions)
