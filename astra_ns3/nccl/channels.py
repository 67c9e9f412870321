"""How many channels a communicator has, for collectives, NVLS and point-to-point messages.

Source of the rules: NVIDIA/nccl, ``src/graph/connect.cc`` (ncclTopoPostset), ``src/transport/nvls.cc``
(ncclNvlsTuning), ``src/graph/paths.cc`` (ncclTopoComputeP2pChannels), at the tags v2.18.6-1 to v2.30.7-1.
"""

from __future__ import annotations

from functools import cache

from astra_ns3.nccl.communicator import Communicator
from astra_ns3.nccl.constants import P2P_AT_ONCE, max_channels, nvlink_width
from astra_ns3.nccl.graphs import graph_of, has_collnet, has_nvls
from astra_ns3.nccl.links import links_of
from astra_ns3.nccl.rounding import divided_up

_WIDE_RING, _ENOUGH = 45.0, 16
_P2P_GBYTES_PER_S = 14
"""The rate that one channel brings to the network (NCCL_P2P_PER_CHANNEL_NET_BW)."""


@cache
def ring_channels(communicator: Communicator) -> int:
    """Return the channels of rings and trees: those found, twice, and more in three cases; within what is set."""
    rules, ring = communicator.version.rules, graph_of(communicator, "ring")
    most = max_channels(rules)
    count = min(most, 2 * ring.channels)
    if has_collnet(communicator) and communicator.gpus_per_server > 1:
        chain = graph_of(communicator, "collnet_chain")
        count = min(most, count + count // 2) if chain.bw_intra > chain.bw_inter else count
    if _is_hopper(communicator) and communicator.servers > 1 and ring.bw_intra > _WIDE_RING and _has_room(count, rules):
        count *= 2
    return _within(communicator, count)


def _is_hopper(communicator: Communicator) -> bool:
    capability = communicator.server.compute_capability
    return capability == 90 or (capability > 90 and communicator.version.rules >= (2, 25))


def _has_room(count: int, rules: tuple[int, int]) -> bool:
    return count < _ENOUGH if rules >= (2, 20) else 2 * count <= max_channels(rules)


def _within(communicator: Communicator, count: int) -> int:
    """First at most, then at least what the environment asks for."""
    environment, most = communicator.environment, max_channels(communicator.version.rules)
    count = min([count, *(max(1, value) for value in (environment.max_nchannels, environment.max_ctas) if value)])
    asked = [value for value in (environment.min_nchannels, environment.min_ctas) if value]
    return min(most, max([count, *asked]))


@cache
def nvls_channels(communicator: Communicator) -> int:
    """Return the channels of NVLS and NVLSTree, 0 if there is none."""
    if not has_nvls(communicator) or not graph_of(communicator, "nvls").channels:
        return 0
    rules, environment = communicator.version.rules, communicator.environment
    count = 16
    if communicator.server.compute_capability >= 100 and rules >= (2, 25):
        count = 24 if communicator.servers == 1 and rules >= (2, 27) else 32
        if communicator.servers > 1 and rules >= (2, 30):
            count = blackwell_nvls_tree(communicator)[0]
    return max(environment.min_ctas or 1, min(environment.max_ctas or max_channels(rules), count))


def blackwell_nvls_tree(communicator: Communicator) -> tuple[int, int, int]:
    """Return channels, chunk bytes and most chunk bytes of NVLSTree on Blackwell since 2.30; 0: not set."""
    width = min((nic.width for nic in links_of(communicator).nics), default=0.0)
    gpus, near = communicator.gpus_per_server, graph_of(communicator, "nvls").type_inter in ("PIX", "PXB")
    if communicator.servers == 2 and width >= 48:
        if gpus <= 4:
            return 32, 256 << 10, 256 << 10
        narrow = gpus >= 16 or (gpus <= 8 and near and width < 96)
        return 32, 128 << 10, (64 if narrow else 128) << 10
    if width >= 96:
        return (24, 256 << 10, 256 << 10) if gpus <= 8 else (32, 128 << 10, (128 if gpus < 32 else 64) << 10)
    return (24, 128 << 10, (64 if near else 128) << 10) if width >= 48 else (32, 128 << 10, 0)


@cache
def launched_channels(communicator: Communicator) -> int:
    """Return the channels that a ring's or tree's collective starts from; from 2.22 to 2.27 at least those of NVLS."""
    count = ring_channels(communicator)
    return max(count, nvls_channels(communicator)) if (2, 22) <= communicator.version.rules <= (2, 27) else count


@cache
def p2p_channels(communicator: Communicator) -> int:
    """Return the channels of point-to-point messages: a power of two; from 2.20 to 2.27 at least those of NVLS."""
    count = ring_channels(communicator)
    if (2, 20) <= communicator.version.rules <= (2, 27):
        count = max(count, nvls_channels(communicator))
    return min(power_of_2(count), max_channels(communicator.version.rules))


@cache
def channels_per_peer(communicator: Communicator) -> int:
    """Return the channels of messages to one peer."""
    channels, rules = p2p_channels(communicator), communicator.version.rules
    count = min([max_channels(rules), *_local_channels(communicator), *_network_channels(communicator)])
    if rules < (2, 29):
        return power_of_2(min(count, channels))
    count = power_of_2(count)
    if communicator.servers == 1 or communicator.environment.nchannels_per_net_peer is not None:
        return min(channels, count)
    while count > 1 and count * divided_up(communicator.ranks, P2P_AT_ONCE) > channels:
        count //= 2
    return count


def power_of_2(count: int) -> int:
    """Return the least power of two that isn't below ``count``."""
    return 1 << max(0, count - 1).bit_length()


def _local_channels(communicator: Communicator) -> list[int]:
    """Return the channels between each two GPUs of a server: two for each link, or two through PCIe."""
    links = links_of(communicator)
    width = nvlink_width(links.compute_capability, communicator.version.rules)
    if links.gpus == 1:
        return []
    if links.switched:
        return [2 * max(1, int(links.nvlink / width + 1e-6))]
    counts = [2 * max(1, int(pair / width + 1e-6)) for *_, pair in links.pairs]
    return counts if links.all_nvlink else [*counts, 2]


def _network_channels(communicator: Communicator) -> list[int]:
    if communicator.servers == 1:
        return []
    rules, asked = communicator.version.rules, communicator.environment.nchannels_per_net_peer
    if asked is not None:
        return [asked]
    if rules < (2, 20):
        return [2]
    nics, width = _nics_of_a_gpu(communicator)
    if rules >= (2, 29):
        return [max(nics, divided_up(int(width), _P2P_GBYTES_PER_S)) if nics else 2]
    count = 2
    while count > 1 and count * communicator.ranks > 4 * p2p_channels(communicator):
        count //= 2
    return [max(nics or 1, count)]


def _nics_of_a_gpu(communicator: Communicator) -> tuple[int, float]:
    """Return the NICs that it takes to use the width of the worst placed GPU, and their width."""
    links, found = links_of(communicator), []
    for gpu in range(links.gpus):
        near = [nic for nic in links.nics if gpu in nic.near] or list(links.nics)
        count, width = 0, 0.0
        while count < len(near) and width < links.pci:
            width += min(near[count].width, links.pci)
            count += 1
        found.append((max(count, divided_up(int(width), _P2P_GBYTES_PER_S)), count, width))
    return min(found)[1:] if found else (0, 0.0)
