"""The course of a scenario: events of its network, failures that are drawn, and how the network learns of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from astra_ns3.config.scenario.failures import FailuresConfig
from astra_ns3.config.scenario.recovery import RecoveryConfig
from astra_ns3.errors import located, of_npus, refuse
from astra_ns3.frozen import dataclass, replace
from astra_ns3.network.api import EndpointModel, Still
from astra_ns3.scenario.events import Event, changes_of, check_heeded
from astra_ns3.scenario.failures import drawn
from astra_ns3.scenario.paces import Stretch, stretches
from astra_ns3.scenario.recovery.policies import reaction_of
from astra_ns3.topology.changes import Change
from astra_ns3.topology.graph import Graph
from astra_ns3.topology.reactions import Reaction


@dataclass(frozen=True)
class Course:
    """Events as a file has them, what fails by rates, and recovery; ``seed``: the run's.

    ``failures_where``: where the file says what fails. ``jobs``: how many share the network; of several one may end by
    a transport that gives up while the others go on.
    """

    given: tuple[Event, ...] = ()
    failures: FailuresConfig | None = None
    failures_where: str = ""
    recovery: RecoveryConfig = RecoveryConfig()
    seed: int = 1
    jobs: int = 1

    def __bool__(self) -> bool:
        """Whether anything may happen."""
        return bool(self.given) or self.failures is not None

    def events(self, graph: Graph) -> tuple[Event, ...]:
        """Return the events of the file, then those that are drawn for a network."""
        if self.failures is None:
            return self.given
        with located(self.failures_where):
            found = drawn(self.failures, graph, self.seed)
        return (*self.given, *(Event(config, self.failures_where, drawn=True) for config in found))

    def changes(self, graph: Graph) -> Sequence[Change]:
        """Return the changes of a network that all events come to."""
        return changes_of(self.events(graph), graph)

    @property
    def stretches(self) -> list[Stretch]:
        """When which NPU is slow or stands still."""
        return stretches(self.given)

    def endpoint(self, endpoint: EndpointModel, npus: int) -> EndpointModel:
        """Return what NPUs spend on messages, told when they stand still; raises InputError for one of none."""
        for event in self.given:
            if isinstance(event.config.npu, int):
                with located(event.where):
                    of_npus("npu", event.config.npu, npus)
        stills = (
            Still(each.npu, each.start_ps, each.end_ps)
            for each in self.stretches
            if each.still and each.end_ps is not None
        )
        return replace(endpoint, stills=tuple(stills), tells_failures=self.jobs > 1)

    def check_heeded(self, backend: str, heeds: Collection[str]) -> None:
        """Raise InputError for what a backend knows nothing of; ``heeds``: what may change there."""
        check_heeded(self.given, backend, heeds)
        with located(self.failures_where):
            refuse(
                self.failures is not None and "up" not in heeds,
                f"nothing fails on the backend {backend}, expected ns3 or flow",
            )

    @property
    def reaction(self) -> Reaction | None:
        """When turns of links are known; None: at once."""
        return reaction_of(self.recovery, self.seed)


NOTHING = Course()
"""Nothing happens."""
