"""What was measured on other simulators: with inputs of ours, in ``reference``; with theirs, beside the repository."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

OWN = Path(__file__).resolve().parents[1] / "reference"
Row = dict[str, str]
KINDS = {
    "ALLREDUCE": "all-reduce",
    "REDUCESCATTER": "reduce-scatter",
    "ALLGATHER": "all-gather",
    "ALLTOALL": "all-to-all",
}


@cache
def shared() -> Path | None:
    """The folder of all measurements, beside this repository or above it; None where it is absent."""
    for folder in OWN.parents:
        if (folder / "shared" / "reference" / "astra-sim-1.0").is_dir():
            return folder / "shared" / "reference"
    return None


def rows(path: Path | None) -> list[Row]:
    """The rows of a CSV file; none if there is no file."""
    if path is None:
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def shared_rows(name: str) -> list[Row]:
    """The rows of a file of :func:`shared`."""
    folder = shared()
    return rows(None if folder is None else folder / name)


@dataclass(frozen=True)
class Files:
    """The three files of a run."""

    workload: Path
    system: Path
    network: Path


@dataclass(frozen=True)
class AstraSimCase:
    """A case measured on ASTRA-sim 1.0."""

    row: Row
    ours: bool

    @property
    def finish_us(self) -> float:
        """When NPU 0 ended there."""
        return float(self.row["finish_us"])

    @property
    def passes(self) -> int:
        return int(self.row["passes"])

    @property
    def comm_scale(self) -> float:
        option, _, value = self.row.get("options", "").partition("=")
        assert option in ("", "--comm-scale")
        return float(value or 1)

    def files(self, folder: Path) -> Files:
        """Its files: those measured with, or ours, written into ``folder``."""
        if self.ours:
            return write_files(self.row, folder)
        reference = shared()
        assert reference is not None
        kinds = ("workload", "system", "network")
        return Files(*(reference / "astra-sim-1.0" / kind / self.row[kind] for kind in kinds))


def astra_sim_cases() -> list[AstraSimCase]:
    """All of them; what was measured with files of our making is here also where the others are absent."""
    own = rows(OWN / "astra_sim_1_analytical.csv")
    names = {row["id"] for row in own}
    theirs = [row for row in shared_rows("astra-sim-1.0/expected.csv") if row["id"] not in names]
    return [AstraSimCase(row, ours=True) for row in own] + [AstraSimCase(row, ours=False) for row in theirs]


def write_files(row: Row, folder: Path) -> Files:
    """The files that a row of ``astra_sim_1_analytical.csv`` stands for, in ASTRA-sim's formats."""
    files = Files(*(folder / name for name in ("workload.txt", "system.txt", "network.json")))
    micro = f"MICRO\n1\nlayer -1 0 NONE 0 0 NONE 0 0 {row['collective']} {row['bytes']} 5\n"
    files.workload.write_text(micro, encoding="utf-8")
    files.system.write_text("".join(f"{key}: {value}\n" for key, value in system_keys(row).items()), encoding="utf-8")
    files.network.write_text(json.dumps(network_keys(row)), encoding="utf-8")
    return files


def system_keys(row: Row) -> dict[str, str]:
    """The keys of the system; algorithms of collectives that aren't issued are rings."""
    rings = "_".join(["ring"] * (row["algorithm"].count("_") + 1))
    algorithms = {
        f"{name}-implementation": row["algorithm"] if kind == row["collective"] else rings
        for kind, name in KINDS.items()
    }
    keys = {
        "scheduling-policy": "FIFO",
        "endpoint-delay": "10",
        "active-chunks-per-dimension": row["active_chunks"],
        "preferred-dataset-splits": row["splits"],
        "boost-mode": "0",
        **algorithms,
        "collective-optimization": "localBWAware",
        "intra-dimension-scheduling": row["intra_dimension"],
        "inter-dimension-scheduling": row["inter_dimension"],
    }
    return {key: value for key, value in keys.items() if value}


def network_keys(row: Mapping[str, str]) -> dict[str, object]:
    """The keys of the network, an entry for each dimension."""
    sizes = [int(word) for word in row["npus"].split()]
    nothing = [0] * len(sizes)
    return {
        "topology-name": "Hierarchical",
        "topologies-per-dim": row["topology"].split(),
        "dimension-type": ["N"] * len(sizes),
        "dimensions-count": len(sizes),
        "units-count": sizes,
        "links-count": [int(word) for word in row["links"].split()],
        "link-latency": [int(word) for word in row["latency_ns"].split()],
        "link-bandwidth": [float(word) for word in row["bandwidth_gib"].split()],
        "nic-latency": nothing,
        "router-latency": [int(word) for word in row["router_latency_ns"].split()],
        "hbm-latency": nothing,
        "hbm-bandwidth": [1] * len(sizes),
        "hbm-scale": nothing,
    }


MODES = {"none": 12, "dcqcn": 1, "hpcc": 3, "timely": 7, "dctcp": 8}
"""Of the congestion controls in a config.txt."""
SPINES = LEAF_NPUS = 8


def write_config_txt(row: Row, folder: Path) -> Path:
    """The config.txt and the topology that a row of ``astra_network_ns3.csv`` stands for."""
    (folder / "topology.txt").write_text(topology_text(row["topology"], int(row["n"])), encoding="utf-8")
    thresholds = {"KMAX_MAP": (1600, 2400, 3200), "KMIN_MAP": (400, 600, 800), "PMAX_MAP": (0.2, 0.2, 0.2)}
    keys: dict[str, object] = {
        "ENABLE_QCN": 1,
        "PACKET_PAYLOAD_SIZE": row["payload_bytes"],
        "TOPOLOGY_FILE": "topology.txt",
        "CC_MODE": MODES[row["congestion_control"]],
        "ALPHA_RESUME_INTERVAL": 1,
        "RATE_DECREASE_INTERVAL": 4,
        "CLAMP_TARGET_RATE": 0,
        "RP_TIMER": 900,
        "EWMA_GAIN": 1 / 256,
        "FAST_RECOVERY_TIMES": 1,
        "RATE_AI": "50Mb/s",
        "RATE_HAI": "100Mb/s",
        "MIN_RATE": "100Mb/s",
        "DCTCP_RATE_AI": "1000Mb/s",
        "L2_CHUNK_SIZE": 4000,
        "L2_ACK_INTERVAL": 1,
        "L2_BACK_TO_ZERO": 0,
        "HAS_WIN": 1,
        "GLOBAL_T": 0,
        "VAR_WIN": 1,
        "FAST_REACT": 1,
        "U_TARGET": 0.95,
        "MI_THRESH": 0,
        "MULTI_RATE": 0,
        "RATE_BOUND": 1,
        "BUFFER_SIZE": 32,
    }
    for key, values in thresholds.items():
        entries = zip((100, 200, 400), values, strict=True)
        keys[key] = f"{len(values)} " + " ".join(f"{rate}000000000 {value}" for rate, value in entries)
    path = folder / "config.txt"
    path.write_text("".join(f"{key} {value}\n" for key, value in keys.items()), encoding="utf-8")
    return path


def topology_text(kind: str, npus: int) -> str:
    """``single``: a switch; ``clos``: leaves of 8 NPUs, each joined to 8 spines. All links alike."""
    if kind == "single":
        switches, links = [npus], [(npu, npus) for npu in range(npus)]
    else:
        leaves = npus // LEAF_NPUS
        switches = list(range(npus, npus + leaves + SPINES))
        links = [(npu, npus + npu // LEAF_NPUS) for npu in range(npus)]
        links += [(leaf, spine) for leaf in switches[:leaves] for spine in switches[leaves:]]
    lines = [f"{npus + len(switches)} {len(switches)} {len(links)}", " ".join(map(str, switches))]
    return "\n".join([*lines, *(f"{one} {other} 400Gbps 0.0005ms 0" for one, other in links)]) + "\n"
