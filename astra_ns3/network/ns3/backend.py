"""The ns-3 backend: every message as real packets over the network that a configuration describes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from astra_ns3.network.door.description import Description
from astra_ns3.network.door.hook import HookContext
from astra_ns3.network.door.session_backend import SessionBackend
from astra_ns3.network.ideal.packets import ideal_over_packets
from astra_ns3.network.ns3.build import describe_network
from astra_ns3.network.ns3.own_control import use_own_control
from astra_ns3.network.plan import NetworkPlan
from astra_ns3.network.records import RecorderOptions


class Ns3Backend(SessionBackend):
    """Packets through ns-3; arguments and errors as for :class:`SessionBackend`."""

    delivers_whole = False
    counts_packets = True

    def __init__(
        self,
        plan: NetworkPlan,
        *,
        seed: int = 1,
        recorder: RecorderOptions | None = None,
        on_built: Callable[[HookContext], object] | None = None,
        cores: int = 1,
    ) -> None:
        self._own_control: object = None

        def describe(description: Description) -> None:
            describe_network(description, plan, seed)
            self._own_control = use_own_control(description, plan.transports.values(), self._call)

        super().__init__(
            plan.graph,
            plan.config.observe,
            describe,
            seed=seed,
            recorder=recorder,
            on_built=on_built,
            cores=cores,
            ideal=partial(ideal_over_packets, plan),
        )
