"""The losses of programs on a model's device, put into the run's network and its slowdown."""

from __future__ import annotations

from astra_ns3.config.compute_slowdown import CommunicationShares, ComputeSlowdown
from astra_ns3.config.formats.plain_graph import PlainGraph
from astra_ns3.config.model.compute import AnyCompute, RooflineKeys
from astra_ns3.config.model.devices import DEVICES
from astra_ns3.config.network.file import AnyNetwork
from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.config.system import SystemConfig
from astra_ns3.config.topology.file import FileTopology
from astra_ns3.config.topology.nodes import Hierarchical, RailOptimised, ScaleUp
from astra_ns3.config.topology.own import OwnTopology
from astra_ns3.experiments.nccl.network_of_servers import share_counted
from astra_ns3.topology.builders import graph_as_given
from astra_ns3.topology.parts import lines_inside
from astra_ns3.workload.files.workload_formats import AnyWorkload
from astra_ns3.workload.models.workload import ModelWorkload


def inside_share(network: AnyNetwork, workload: AnyWorkload, system: SystemConfig) -> float:
    """Return the share of the lines inside a node that transfers of a model's device reach.

    A listed device's share is the bus bandwidth of a ring of NCCL's over the data sheet's rate, also where a line has
    the lower rate that NCCL counts with. NCCL's channels, where they play, lose it themselves, in what their kernels
    copy and their packets carry: the lines keep their rate. A share that the user wrote holds for each rate, and with
    them too.
    """
    if not isinstance(workload, ModelWorkload):
        return 1.0
    compute = workload.file.compute
    share = compute.losses.scale_up_efficiency
    device = _measured(compute)
    if share == 1 or device is None:
        return share
    return 1.0 if system.plays_nccl else min(share / share_counted(network, device), 1.0)


def left_to_nccl(compute: AnyCompute, system: SystemConfig) -> float | None:
    """Return the device's share of the lines inside nodes where NCCL's channels lose it; None: they don't."""
    share = compute.losses.scale_up_efficiency
    return share if system.plays_nccl and share < 1 and _measured(compute) else None


def network_as_reached(network: AnyNetwork, workload: AnyWorkload, system: SystemConfig) -> AnyNetwork:
    """Return the network with the rates inside its nodes that transfers of a model's device reach.

    The keys ``scale_up`` of a topology, or the links of a graph, say what lies inside a node. Rates are rounded to
    whole bits per second.
    """
    if not isinstance(network, NetworkConfig):
        return network
    share, topology = inside_share(network, workload, system), network.topology
    if share == 1:
        return network
    if isinstance(topology, (FileTopology, OwnTopology)):
        return network.model_copy(update={"topology": _graph_reached(topology, share)})
    if not isinstance(topology, (Hierarchical, RailOptimised)):
        return network
    inside = topology.model_copy(update={"scale_up": _reached(topology.scale_up, share)})
    return network.model_copy(update={"topology": inside})


def lost_share(workload: AnyWorkload, asked: AnyNetwork, reached: AnyNetwork) -> list[str]:
    """Return a warning if a share of the lines inside nodes that the user wrote has no effect."""
    compute = workload.file.compute if isinstance(workload, ModelWorkload) else None
    if not isinstance(compute, RooflineKeys) or compute.scale_up_efficiency in (None, 1) or asked != reached:
        return []
    share = f"scale_up_efficiency of {compute.scale_up_efficiency:g}"
    return [f"nothing says which lines are inside nodes (scale_up does), so the model's {share} has no effect"]


def slowdown_on_device(slowdown: ComputeSlowdown | None, workload: AnyWorkload) -> ComputeSlowdown | None:
    """Return the slowdown with what collectives take of computing on a model's device.

    What ``slowdown`` itself says of ``communication`` goes first.
    """
    if not isinstance(workload, ModelWorkload) or (slowdown is not None and slowdown.communication is not None):
        return slowdown
    factor = workload.file.compute.losses.overlap_slowdown
    if factor == 1:
        return slowdown
    share = 1 - 1 / factor
    communication = CommunicationShares(processors=share, memory_bandwidth=share)
    if slowdown is None:
        return ComputeSlowdown(communication=communication)
    return slowdown.model_copy(update={"communication": communication})


def _measured(compute: AnyCompute) -> str | None:
    """Return the listed device whose share of the lines inside a node holds; None: it is the user's own.

    Another memory or peak changes nothing about its lines.
    """
    if not isinstance(compute, RooflineKeys) or compute.device is None or compute.scale_up_efficiency is not None:
        return None
    own, listed = compute.device, DEVICES.get(compute.device.name)
    return own.name if listed is not None and listed.scale_up_efficiency == own.scale_up_efficiency else None


def _reached(inside: ScaleUp, share: float) -> ScaleUp:
    rates_bps = {bps: max(round(bps * share), 1) for bps in (inside.link.rate_bps, inside.injection.rate_bps) if bps}
    changes: dict[str, object] = {
        "link": inside.link.model_copy(update={"rate_bps": rates_bps[inside.link.rate_bps]}),
    }
    if inside.injection.rate_bps is not None:
        changes["injection"] = inside.injection.model_copy(update={"rate_bps": rates_bps[inside.injection.rate_bps]})
    if inside.switch is not None:
        changes["switch"] = inside.switch.marking_also_at(rates_bps)
    return inside.model_copy(update=changes)


def _graph_reached(topology: FileTopology | OwnTopology, share: float) -> FileTopology | OwnTopology:
    """Return the topology with the share inside its servers; the same if its graph has no links there."""
    if isinstance(topology, FileTopology) and not isinstance(topology.content(), PlainGraph):
        return topology
    return topology.reaching_inside(share) if lines_inside(graph_as_given(topology)) else topology
