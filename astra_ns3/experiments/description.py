"""The three files of a run as plain data: all that its results need of them, whatever process makes these."""

from __future__ import annotations

from itertools import groupby

from astra_ns3.config.core.plain import JsonObject
from astra_ns3.experiments.forecasting.foreseen import Foreseen
from astra_ns3.experiments.input_files import input_files
from astra_ns3.experiments.inputs import Inputs
from astra_ns3.experiments.nccl.servers_of_network import place_of
from astra_ns3.frozen import dataclass, field
from astra_ns3.network.plan import AnyPlan, NetworkPlan
from astra_ns3.network.run_document import EventDocument, FileDocument, TenantDocument
from astra_ns3.scenario.events import event_documents


@dataclass(frozen=True)
class Description:
    """The inputs of a run. ``observes``: the backend may write tables; ``asked_to_observe``: the user wants them."""

    workload: FileDocument
    system: FileDocument
    network: FileDocument
    in_force: FileDocument | None
    """Every number of the transports and of marking, those that the network file leaves open too; None: no packets."""
    compat: str
    num_queues_per_dimension: int
    observes: bool
    asked_to_observe: bool
    warnings: tuple[str, ...]
    foreseen: Foreseen
    compute_slowdown: FileDocument | None = None
    """The slowdown of computations."""
    tenant: TenantDocument | None = None
    """Which NPUs it has, as one of several tenants of a network, and when it starts; None: it has no others."""
    npus_per_server: int | None = None
    """So many NPUs of the network in a row share a server; None: NCCL plays no collectives."""
    dimensions: tuple[str, ...] | None = None
    """The names of the job's dimensions; None: these are the network's."""
    events: tuple[EventDocument, ...] = ()
    """The network's events; the first of several tenants has them, the others have none."""
    npus: int = 0
    """How many NPUs the network has."""
    input_files: FileDocument = field(default_factory=dict)
    """Digests of the files that the inputs name."""


def describe(inputs: Inputs) -> Description:
    """The inputs as plain data; sizes and times are those that are run, after scaling."""
    cut = inputs.job.cut(inputs.platform)
    return Description(
        workload=inputs.job.document(),
        system=inputs.system.document(),
        network=inputs.network.document(),
        in_force=in_force_document(inputs.plan),
        compat=inputs.compat,
        num_queues_per_dimension=inputs.system.num_queues_per_dimension,
        observes=inputs.network.observe.anything,
        asked_to_observe=inputs.asked_to_observe,
        warnings=inputs.warnings,
        foreseen=inputs.job.foreseen(inputs.platform),
        compute_slowdown=None if inputs.slowdown is None else inputs.slowdown.document(),
        tenant=inputs.tenancy.document() if inputs.tenancy.name else None,
        npus_per_server=place_of(inputs.network).npus if inputs.system.plays_nccl else None,
        dimensions=None if cut.cut is None else cut.names,
        events=tuple(event_documents(inputs.events, inputs.graph)),
        npus=len(inputs.graph.npu_host),
        input_files=dict(input_files(inputs)),
    )


def in_force_document(plan: AnyPlan) -> JsonObject | None:
    """Numbers of each transport, of its congestion control, and of the switches' marking by rate and of their credit.

    None without packets.
    """
    packets = plan.of_packets
    if packets is None:
        return None
    transports = {kind: each.in_force() for kind, each in packets.transports.items()}
    return {**transports, "ecn": _marking(packets), "credits": _credits(packets)}


def _credits(plan: NetworkPlan) -> list[JsonObject]:
    """Return the credit of each lane that switches give, for switches whose numbers follow each other."""
    rows: list[JsonObject] = []
    numbered = enumerate(each.credits for each in plan.graph.switch_configs)
    for given, group in groupby(numbered, key=lambda each: each[1] and (each[1].bytes_, each[1].update_ps)):
        if given is not None:
            switches = [number for number, _ in group]
            of = {"first_switch": switches[0], "last_switch": switches[-1]}
            rows.append({**of, "bytes": given[0], "update_ps": given[1]})
    return rows


def _marking(plan: NetworkPlan) -> list[JsonObject]:
    """Thresholds by rate of the port; switches that differ have rows of their own."""
    rows: dict[tuple[float, ...], JsonObject] = {}
    for switch in plan.outline.switches:
        for rate_bps in sorted({port.rate_bps for port in switch.ports}):
            ecn = switch.config.ecn_of(rate_bps)
            if ecn is not None:
                row = {"rate_bps": rate_bps, "kmin_bytes": ecn.kmin_bytes, "kmax_bytes": ecn.kmax_bytes}
                rows[(*row.values(), ecn.pmax)] = {**row, "pmax": ecn.pmax}
    return list(rows.values())
