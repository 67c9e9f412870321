"""Plans the collectives of a run's chain again for lines twice as fast, and names NCCL's new choices."""

from __future__ import annotations

from collections.abc import Mapping

from astra_ns3.config.core.document import Document
from astra_ns3.config.core.model import validated
from astra_ns3.config.core.plain import Json
from astra_ns3.config.nccl import NcclConfig
from astra_ns3.config.network.file import AnyNetwork
from astra_ns3.experiments.nccl.choices_of_run import Played, npus_of, on_chain
from astra_ns3.experiments.nccl.servers_of_network import as_nccl_asks, with_servers
from astra_ns3.experiments.network_parts.packet_graph import Ground
from astra_ns3.experiments.network_parts.reduction import with_switches
from astra_ns3.frozen import replace
from astra_ns3.report.explanation.explanation import Explanation
from astra_ns3.report.explanation.what_ifs import ANEW
from astra_ns3.report.network_of import network_of
from astra_ns3.report.tables import Records
from astra_ns3.scenario.scenario import tenancy_of
from astra_ns3.system.communicator import Communicator
from astra_ns3.system.file import parse_system
from astra_ns3.system.groups import Grid
from astra_ns3.system.nccl.parts import of_name
from astra_ns3.system.nccl.planner import NcclPlanner
from astra_ns3.units import format_bytes

_SPEED = 2
_MOST = 3
"""So many collectives are named."""


def with_choices_anew(run: Records, found: Explanation) -> Explanation:
    """Return an explanation that names what NCCL would choose with faster lines, where that is another choice.

    Where nobody knows who plays together, or the network isn't known, the warning stays as it is.
    """
    if not any(ANEW in each.caveats for each in found.what_ifs):
        return found
    network = network_of(run.metadata)
    if network is None:
        return found
    changes = [None if one.untold else _change(run, network, one) for one in on_chain(run, network, found)]
    words = _words([each for each in changes if each], all_known=None not in changes)
    what_ifs = (
        replace(each, caveats=(*words, *(other for other in each.caveats if other != ANEW)))
        if ANEW in each.caveats
        else each
        for each in found.what_ifs
    )
    return replace(found, what_ifs=tuple(what_ifs))


def _words(changes: list[str], *, all_known: bool) -> tuple[str, ...]:
    """The changes, first in words, then in number; the warning, if there may be more."""
    if all_known and not changes:
        return ("NCCL would choose the same for the collectives of the chain",)
    more = len(changes) - _MOST
    rest = [f"NCCL would choose anew for {more:,} more: not counted"] if more > 0 else []
    return (*changes[:_MOST], *rest, *([] if all_known else [ANEW]))


def _change(run: Records, network: AnyNetwork, one: Played) -> str | None:
    """Return the sentence that names NCCL's new choice and its old one; empty if they are the same.

    None: what the run played isn't what is chosen here for its lines, so nobody knows.
    """
    now, then = (_choice(run, network, one, speed) for speed in (1, _SPEED))
    if now != one.algorithm:
        return None
    if now == then:
        return ""
    size = format_bytes(one.bytes)
    return f"NCCL would choose {_short(then)} in place of {_short(now)} for {one.kind.value} of {size}: not counted"


def _short(name: str) -> str:
    return " ".join([*of_name(name)[:2], f"x{of_name(name)[2]}"])


def _choice(run: Records, network: AnyNetwork, one: Played, speed: int) -> str:
    """The name of what NCCL chooses for the first group."""
    keys: Mapping[str, Json] = run.metadata["system"].get("nccl") or {}
    table = validated(NcclConfig, Document("nccl", dict(keys)), {})
    written = parse_system({"collectives": "nccl"}).model_copy(update={"nccl": table})
    tenancy = tenancy_of("", None, 0, None, network.dimensions, network.bandwidths)
    placed = with_servers(written, network, tenancy, merges=False, speed=speed)
    ground = Ground(as_nccl_asks(network, written), tenancy, str(run.metadata["backend"]), None)
    trees, told = with_switches(placed, ground).reduction_trees, placed.nccl
    assert told is not None
    members = Communicator(npus_of(run, one.groups)[0])
    return NcclPlanner(told, Grid((network.npus,)).of(members), trees).name(one.kind, one.bytes, (0,))
