"""The places that share the experts of a layer, and what routing comes to there."""

from __future__ import annotations

from astra_ns3.config.training_plan import ExpertLoad
from astra_ns3.errors import refuse
from astra_ns3.frozen import dataclass

Table = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class ExpertGroup:
    """``places`` that share ``experts``, each so many in a row; ``tokens`` of each place, of which each goes to
    ``active`` experts. ``places_per_node``: places in a row that are on one node. Raises InputError.
    """

    experts: int
    active: int
    places: int
    tokens: int
    places_per_node: int = 1

    def __post_init__(self) -> None:
        refuse(
            bool(self.experts % self.places),
            f"{self.places} places share {self.experts} experts, expected a divisor of these",
        )
        refuse(
            bool(self.places % self.places_per_node and self.places > self.places_per_node),
            f"{self.places_per_node} places of a group of experts are on a node, expected a divisor of the "
            f"{self.places} that share the experts",
        )

    @property
    def own(self) -> int:
        """Experts of a place."""
        return self.experts // self.places

    @property
    def node(self) -> int:
        """Places of a node, at most all."""
        return min(self.places_per_node, self.places)

    @property
    def nodes(self) -> int:
        """How many there are."""
        return self.places // self.node


@dataclass(frozen=True)
class Routed:
    """Tokens of a layer in a micro-batch. ``sent``: the rows that each place has for each, its own included; back they
    go the same way. ``crossing``: the rows that each place has for each node, where a row goes to a node once.
    ``rows``: what each expert computes, in the order of experts; ``dropped``: choices that come to nought.
    """

    sent: Table
    rows: tuple[int, ...]
    dropped: int
    crossing: Table | None = None

    def rows_of(self, place: int) -> tuple[int, ...]:
        """Rows of each expert that a place has."""
        own = len(self.rows) // len(self.sent)
        return self.rows[place * own : (place + 1) * own]

    @property
    def load(self) -> ExpertLoad:
        """For the plan of a training."""
        return ExpertLoad(self.place_rows, self.dropped)

    @property
    def place_rows(self) -> tuple[int, ...]:
        """Rows that each place computes."""
        return tuple(sum(self.rows_of(index)) for index in range(len(self.sent)))
