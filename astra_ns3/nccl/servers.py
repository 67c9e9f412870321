"""Ready servers, under the names of their vendors.

Numbers come from the page that ``source`` of each server names. A number marked "recalled" was written down from memory
and not looked up: mostly which path a GPU takes to its NIC, which decides between NCCL's LL128 and other protocols.
Rates of NVLink are for one GPU and one direction: 25 GB/s a link up to Hopper, 50 GB/s a link on Blackwell.

Model limits: a NIC is what NCCL sees. AWS's plugin joins the four 100 Gb/s cards beside each GPU of a P5 to one. AMD's
MI300X is absent, because RCCL chooses by rules of its own, which were not sourced.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from astra_ns3.errors import unknown, wrong
from astra_ns3.frozen import replace
from astra_ns3.nccl.server import Cpu, Nic, Reach, Server

_MOST_SERVERS = 1_000_000


def _each(gpus: int, gbits_per_s: float, reach: Reach) -> tuple[Nic, ...]:
    """Return one NIC for each GPU."""
    return tuple(Nic(gbits_per_s, (gpu,), reach) for gpu in range(gpus))


def _each_two(gpus: int, gbits_per_s: float, reach: Reach, nics: int = 1) -> tuple[Nic, ...]:
    """Return ``nics`` for every two GPUs, to which both are equally close."""
    near = ((gpu, gpu + 1) for gpu in range(0, gpus, 2))
    return tuple(Nic(gbits_per_s, two, reach) for two in near for _ in range(nics))


def _all_pairs(gpus: int, links: int) -> tuple[tuple[int, int, int], ...]:
    """Return as many links between every two GPUs."""
    return tuple((one, other, links) for one in range(gpus) for other in range(one + 1, gpus))


def _volta(name: str, gpus: int, nics: tuple[Nic, ...], source: str) -> Server:
    return Server(name, gpus, 70, 6, 150.0, nics, source=source)


def _ampere(name: str, nics: tuple[Nic, ...], source: str, cpu: Cpu = "amd") -> Server:
    return Server(name, 8, 80, 12, 300.0, nics, cpu, source=source)


def _hopper(name: str, nics: tuple[Nic, ...], source: str, cpu: Cpu = "intel") -> Server:
    return Server(name, 8, 90, 18, 450.0, nics, cpu, multicast=True, source=source)


def _blackwell(name: str, nics: tuple[Nic, ...], source: str, cpu: Cpu = "intel", capability: int = 100) -> Server:
    gpus = 72 if cpu == "arm" else 8
    return Server(name, gpus, capability, 18, 900.0, nics, cpu, multicast=True, source=source)


# Links between the V100 of a DGX-1, a cube with its diagonals; GPUs 0 to 3 as in `nvidia-smi topo -m` of the source.
_CUBE = (
    *((0, 1, 1), (0, 2, 1), (0, 3, 2), (0, 4, 2), (1, 2, 2), (1, 3, 1), (1, 5, 2), (2, 3, 2), (2, 6, 1), (3, 7, 1)),
    *((4, 5, 1), (4, 6, 1), (4, 7, 2), (5, 6, 2), (5, 7, 1), (6, 7, 2)),
)
_DGX_1V = replace(
    _volta(
        "dgx-1v",
        8,
        _each_two(8, 100, "pix"),
        "links and paths: gist.github.com/ashwin/e139748bdba15f5af63f0146d01ee4c3 (nvidia-smi topo -m); four 100 Gb/s "
        "EDR adapters, two Xeon E5-2698 v4: NVIDIA DGX-1 data sheet (recalled)",
    ),
    switched=False,
    pairs=_CUBE,
)
_DGX_2 = _volta(
    "dgx-2",
    16,
    _each_two(16, 100, "pix"),
    "eight 100 Gb/s EDR adapters: NVIDIA/nccl-tests#78; 16 V100 on NVSwitches, two Xeon Platinum 8168: NVIDIA DGX-2 "
    "data sheet (recalled); paths recalled",
)
_DGX_A100 = _ampere(
    "dgx-a100",
    _each_two(8, 200, "pxb", nics=2),
    "eight single-port 200 Gb/s adapters, two EPYC 7742: microway.com/hpc-tech-tips/dgx-a100-review-throughput-and-"
    "hardware-summary; two GPUs and two NICs share switches: recalled",
)
_HGX_A100 = _ampere(
    "hgx-a100",
    _each(8, 200, "pxb"),
    "NVIDIA HGX A100 8-GPU board with one 200 Gb/s NIC a GPU, such as Azure ND A100 v4 (recalled)",
)
_P4D_SOURCE = (
    "four 100 Gb/s EFA: NVIDIA/nccl#527, aws-samples/awsome-distributed-training micro-benchmarks/nccl-tests; Intel "
    "hosts, two GPUs and a NIC on a switch: aws/aws-ofi-nccl topology/p4d-24xl-topo.xml{}"
)
_P4D = _ampere("p4d", _each_two(8, 100, "pix"), _P4D_SOURCE.format(""), "intel")
_P4DE = _ampere("p4de", _each_two(8, 100, "pix"), _P4D_SOURCE.format(" (p4de taken for equal)"), "intel")
_DGX_HOPPER_SOURCE = (
    "eight ConnectX-7 of 400 Gb/s, two Xeon Platinum 8480C, four NVSwitches: docs.nvidia.com/dgx-basepod/reference-"
    "architecture-infrastructure-foundation-enterprise-ai/latest/core-components.html; paths recalled"
)
_HGX_HOPPER_SOURCE = (
    "NVIDIA HGX {} 8-GPU board with one 400 Gb/s NIC a GPU, such as Dell XE9680 (NVIDIA/nccl-tests#309); paths recalled"
)
_DGX_H100 = _hopper("dgx-h100", _each(8, 400, "pxb"), _DGX_HOPPER_SOURCE)
_DGX_H200 = _hopper("dgx-h200", _each(8, 400, "pxb"), _DGX_HOPPER_SOURCE)
_HGX_H100 = _hopper("hgx-h100", _each(8, 400, "pix"), _HGX_HOPPER_SOURCE.format("H100"))
_HGX_H200 = _hopper("hgx-h200", _each(8, 400, "pix"), _HGX_HOPPER_SOURCE.format("H200"))
_A3_MEGA = _hopper(
    "a3-mega",
    _each(8, 200, "pxb"),
    "1,600 Gb/s for GPUs: docs.cloud.google.com/compute/docs/gpus/gpu-network-bandwidth; 8 x 200 Gb/s: dstackai/dstack "
    "mkdocs/docs/examples/clusters/gcp.md; Xeon (Sapphire Rapids) and paths recalled",
)
_P5_SOURCE = (
    "32 network cards, 3,200 Gb/s: docs.aws.amazon.com/AWSEC2/latest/UserGuide/p5-efa.html; AMD host, a GPU and four "
    "cards on a switch: aws/aws-ofi-nccl topology/p5.48xl-topo.xml; that the plugin joins the four: recalled"
)
_P5 = _hopper("p5", _each(8, 400, "pix"), _P5_SOURCE, "amd")
_P5E = _hopper("p5e", _each(8, 400, "pix"), _P5_SOURCE + "; path of P5e taken for equal", "amd")
_H20 = _hopper(
    "h20",
    _each(8, 400, "pix"),
    "900 GB/s of NVLink both ways together: willitrunai.com/gpus/h20-96gb; one bonded NIC of some 400 Gb/s a GPU: "
    "NVIDIA/nccl-tests#321; Xeon and paths recalled",
)
_DGX_B200 = _blackwell(
    "dgx-b200",
    _each(8, 400, "pxb"),
    "eight ConnectX-7 of 400 Gb/s, two Xeon 8570, 14.4 TB/s of NVLink: docs.nvidia.com/dgx/dgxb200-user-guide/"
    "introduction-to-dgxb200.html; paths recalled",
)
_HGX_B200 = _blackwell(
    "hgx-b200",
    _each(8, 400, "pix"),
    "NVIDIA HGX B200 8-GPU board with one 400 Gb/s NIC a GPU: docs.cloud.google.com/compute/docs/gpus/gpu-network-"
    "bandwidth (A4); paths: the-dsvolk.github.io/ai-perf/ai-infra/B200-explorer.html, Xeon recalled",
)
_P6_B200 = _blackwell(
    "p6-b200",
    _each(8, 400, "pxb"),
    "8 B200: AWS EC2 P6; eight 400 Gb/s EFA, Xeon (Emerald Rapids) and paths: recalled",
)
_GB200 = _blackwell(
    "gb200-nvl72",
    _each(72, 400, "phb"),
    "18 trays of 4 GPUs, 1.8 TB/s of NVLink a GPU both ways together: NVIDIA GB200 NVL72; four ConnectX-7 a tray, "
    "1,600 Gb/s: docs.cloud.google.com/compute/docs/gpus/gpu-network-bandwidth (A4X); path over the Grace CPU recalled",
    "arm",
)
_GB300 = _blackwell(
    "gb300-nvl72",
    _each(72, 800, "pix"),
    "four ConnectX-8 a tray, 3,200 Gb/s: docs.cloud.google.com/compute/docs/gpus/gpu-network-bandwidth (A4X Max); GPU "
    "on the ConnectX-8's own PCIe switch: recalled",
    "arm",
    103,
)
_A100_SLINGSHOT = Server(
    "a100-slingshot",
    gpus=4,
    compute_capability=80,
    nvlinks=12,
    nvlink_gbytes_per_s=300.0,
    nics=(Nic(200, (3,), "phb"), Nic(200, (1,), "phb")),
    cpu="amd",
    switched=False,
    pairs=_all_pairs(4, 4),
    source="ALCF Polaris: docs.alcf.anl.gov/polaris/hardware-overview/machine-overview, with its nvidia-smi topo -m; "
    "200 Gb/s a NIC: argonne-lcf/alcf-nccl-tests",
)
_GH200_SLINGSHOT = Server(
    "gh200-slingshot",
    gpus=4,
    compute_capability=90,
    nvlinks=18,
    nvlink_gbytes_per_s=450.0,
    nics=_each(4, 200, "phb"),
    cpu="arm",
    switched=False,
    pairs=_all_pairs(4, 6),
    source="CSCS Alps: eth-cscs/cscs-docs docs/software/communication/nccl.md, no NVSwitch: docs.cscs.ch/alps/"
    "hardware; 150 GB/s a pair and direction: apps.fz-juelich.de/jsc/hps/jupiter/configuration.html (same board)",
)
SERVERS: Mapping[str, Server] = {
    server.name: server
    for server in (
        *(_DGX_1V, _DGX_2, _DGX_A100, _HGX_A100, _DGX_H100, _HGX_H100, _DGX_H200, _HGX_H200, _DGX_B200, _HGX_B200),
        *(_GB200, _GB300, _A3_MEGA, _P4D, _P4DE, _P5, _P5E, _P6_B200, _H20, _A100_SLINGSHOT, _GH200_SLINGSHOT),
    )
}


def server_named(name: str) -> Server:
    """Return a ready server; raises InputError with the nearest name."""
    if (server := SERVERS.get(name.lower())) is None:
        raise unknown("server", name, SERVERS)
    return server


def parse_servers(text: str) -> tuple[int, Server]:
    """Return how many servers and which, of ``2xdgx-h100`` or ``dgx-h100`` (one); raises InputError."""
    found = re.fullmatch(r"\s*(?:([0-9]{1,9})\s*[xX*]\s*)?([^\s]{1,200})\s*", text)
    if found is None:
        raise wrong(f"found {text!r}, expected a number and a server such as 2xdgx-h100")
    count = int(found[1] or 1)
    if not 1 <= count <= _MOST_SERVERS:
        raise wrong(f"found {text!r}, expected 1 to {_MOST_SERVERS:,} servers")
    return count, server_named(found[2])
