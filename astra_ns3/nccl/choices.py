"""Which algorithms and protocols may be chosen: NCCL's own reasons, and the lists in NCCL_ALGO and NCCL_PROTO.

Source of the rules: NVIDIA/nccl, ``src/graph/tuning.cc`` (what follows the model), ``src/enqueue.cc``
(updateCollCostTable), at the tags v2.18.6-1 to v2.30.7-1.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.errors import wrong
from astra_ns3.nccl.communicator import Communicator
from astra_ns3.nccl.constants import (
    ALGORITHMS,
    FUNCTIONS,
    MAX_DIRECT_HEADS,
    MAX_NVLS_HEADS,
    PROTOCOLS,
    Algorithm,
    Protocol,
)
from astra_ns3.nccl.graphs import Graph, graph_of, has_collnet, has_nvls
from astra_ns3.nccl.links import PATH_TYPES, PathType

_NO_FALLBACK = (2, 24)
_NEEDS_OF_COLLNET = "; CollNet needs NCCL_COLLNET_ENABLE=1 and switches between servers that reduce"
_PARTED = (CollectiveKind.ALL_GATHER, CollectiveKind.REDUCE_SCATTER)


@cache
def allowed_pairs(communicator: Communicator, kind: CollectiveKind) -> tuple[tuple[Algorithm, Protocol], ...]:
    """Return what may be chosen, in NCCL's order; raises InputError if NCCL_ALGO and NCCL_PROTO leave nothing."""
    if kind not in FUNCTIONS:
        raise wrong(f"found {kind.name.lower()}, which NCCL makes of messages and doesn't tune", "NCCL collective")
    algorithms, protocols = _algorithms(communicator, kind), _protocols(communicator, kind)
    pairs = tuple(
        (algorithm, protocol)
        for algorithm in ALGORITHMS
        if algorithm in algorithms and possible(communicator, kind, algorithm)
        for protocol in PROTOCOLS
        if _protocol_fits(communicator, algorithm, protocol, protocols)
    )
    return pairs or _fallback(communicator, kind)


def _algorithms(communicator: Communicator, kind: CollectiveKind) -> frozenset[str]:
    rules = communicator.version.rules
    found = communicator.environment.listed("algo", FUNCTIONS[kind]) or frozenset[str](ALGORITHMS)
    only_collnet = not found & {"Ring", "Tree", "NVLS", "NVLSTree"}
    if rules < _NO_FALLBACK and only_collnet and not has_collnet(communicator):
        found |= {"Ring", "Tree"}
    always_ring = rules < (2, 19) and kind is not CollectiveKind.ALL_REDUCE
    return found | {"Ring"} if always_ring else found


def _protocols(communicator: Communicator, kind: CollectiveKind) -> dict[str, bool]:
    """Return the protocols and whether they were asked for, which allows LL128 on any path."""
    asked = communicator.environment.listed("proto", FUNCTIONS[kind])
    return dict.fromkeys(PROTOCOLS, False) if asked is None else dict.fromkeys(asked, True)


def _fallback(communicator: Communicator, kind: CollectiveKind) -> tuple[tuple[Algorithm, Protocol], ...]:
    protocols = _protocols(communicator, kind)
    pairs: tuple[tuple[Algorithm, Protocol], ...] = tuple(
        ("Ring", name) for name in PROTOCOLS if _protocol_fits(communicator, "Ring", name, protocols)
    )
    if (2, 19) <= communicator.version.rules < _NO_FALLBACK and pairs:
        return pairs
    environment = communicator.environment
    asked = [
        f"NCCL_{name}={value}" for name, value in (("ALGO", environment.algo), ("PROTO", environment.proto)) if value
    ]
    listed = environment.listed("algo", FUNCTIONS[kind]) or frozenset[str]()
    needs = "" if has_collnet(communicator) or not listed & {"CollNetDirect", "CollNetChain"} else _NEEDS_OF_COLLNET
    raise wrong(f"{' and '.join(asked)} leave no algorithm for {FUNCTIONS[kind]} on these servers{needs}", "NCCL")


def graph_for(communicator: Communicator, algorithm: Algorithm) -> Graph:
    """Return the graph that an algorithm runs on; PAT's is the ring's."""
    if algorithm == "Tree":
        return graph_of(communicator, "tree")
    if algorithm in ("NVLS", "NVLSTree"):
        return graph_of(communicator, "nvls")
    if algorithm == "CollNetDirect":
        return graph_of(communicator, "collnet_direct")
    return graph_of(communicator, "collnet_chain" if algorithm == "CollNetChain" else "ring")


def possible(communicator: Communicator, kind: CollectiveKind, algorithm: Algorithm) -> bool:
    """Return whether NCCL has an algorithm for a collective on these servers."""
    parted, rules = kind in _PARTED, communicator.version.rules
    if algorithm == "Ring":
        return True
    if algorithm == "Tree":
        return kind is CollectiveKind.ALL_REDUCE
    if algorithm == "PAT":
        one_gpu = communicator.gpus_per_server == 1 and communicator.servers > 1
        return parted and one_gpu and rules >= (2, 23) and communicator.environment.pat_enable != 0
    if not (parted or kind is CollectiveKind.ALL_REDUCE):
        return False
    if algorithm.startswith("NVLS"):
        return _nvls_possible(communicator, parted, algorithm)
    return _collnet_possible(communicator, parted, algorithm)


def _nvls_possible(communicator: Communicator, parted: bool, algorithm: Algorithm) -> bool:
    rules, several = communicator.version.rules, communicator.servers > 1
    graph = graph_of(communicator, "nvls")
    if not has_nvls(communicator) or not graph.channels or (graph.channels < 2 and rules >= (2, 28)):
        return False
    if algorithm == "NVLSTree":
        return several and not parted
    if several and not has_collnet(communicator):
        return False
    if not parted:
        return True
    all_heads = not several or graph.channels == communicator.gpus_per_server
    known = rules >= (2, 27) or (rules >= (2, 19) and not several)
    return known and all_heads and communicator.gpus_per_server <= MAX_NVLS_HEADS


def _collnet_possible(communicator: Communicator, parted: bool, algorithm: Algorithm) -> bool:
    if not has_collnet(communicator) or communicator.gpus_per_server > MAX_DIRECT_HEADS:
        return False
    if algorithm == "CollNetChain":
        return not parted and graph_of(communicator, "collnet_chain").channels > 0
    graph = graph_of(communicator, "collnet_direct")
    if not graph.channels or not communicator.server.switched:
        return False
    return not parted or (communicator.version.rules >= (2, 20) and graph.channels >= communicator.gpus_per_server)


def _protocol_fits(
    communicator: Communicator, algorithm: Algorithm, protocol: Protocol, protocols: dict[str, bool]
) -> bool:
    if protocol not in protocols:
        return False
    if algorithm not in ("Ring", "Tree"):
        return protocol == "Simple"
    return protocol != "LL128" or protocols["LL128"] or _ll128_safe(communicator, graph_for(communicator, algorithm))


def _ll128_safe(communicator: Communicator, graph: Graph) -> bool:
    """Return whether every link keeps the order of the 128 bytes of a line."""
    capability, rules = communicator.server.compute_capability, communicator.version.rules
    known: Sequence[int] = (70, 80, 90) if rules < (2, 25) else (70, 80, 90, 100, 120)
    if capability < 70 or (rules < (2, 27) and capability not in known):
        return False
    farthest: PathType = "PXN" if capability >= 90 else "PXB"
    near = PATH_TYPES.index(graph.type_inter) <= PATH_TYPES.index(farthest)
    return near and graph.type_intra in ("LOC", "NVL")
