"""Finish times measured on ASTRA-sim 2 with astra-network-ns3, met with its own config.txt and topology files.

The measurements lie beside the repository, in ``shared/reference``; without them there is nothing to compare.
"""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

import astra_ns3
from astra_ns3.config.system import SystemConfig
from astra_ns3.config.workload import Workload
from astra_ns3.system.file import parse_system
from astra_ns3.workload.files.astra_sim import parse_workload

MODES = {"none": 12, "dcqcn": 1, "hpcc": 3, "timely": 7, "dctcp": 8}
TOLERANCE = {"single": 0.01, "clos": 0.02}


def reference() -> Path | None:
    """The folder of all measurements, beside this repository or above it."""
    for folder in Path(__file__).resolve().parents:
        if (folder / "shared" / "reference" / "astra-ns3").is_dir():
            return folder / "shared" / "reference"
    return None


def rows() -> list[dict[str, str]]:
    folder = reference()
    if folder is None:
        return []
    with (folder / "astra_ns3_roce.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def config_file(case: dict[str, str], folder: Path) -> Path:
    """The sample's config.txt with the case's topology, payload and congestion control."""
    samples = reference()
    assert samples is not None
    changes = {
        "TOPOLOGY_FILE": str(samples / "astra-ns3" / f"topology_{case['topology']}_{case['n']}.txt"),
        "CC_MODE": str(MODES[case["congestion_control"]]),
        "PACKET_PAYLOAD_SIZE": case["payload_bytes"],
    }
    lines = []
    for line in (samples / "astra-ns3" / "config.txt").read_text().splitlines():
        key = line.split(" ")[0]
        lines.append(f"{key} {changes[key]}" if key in changes else line)
    path = folder / "config.txt"
    path.write_text("\n".join(lines) + "\n")
    return path


def system(case: dict[str, str]) -> SystemConfig:
    keys: dict[str, object] = {
        "endpoint-delay": 10,
        "active-chunks-per-dimension": int(case["active_chunks"]),
        "reduction-bytes-per-ns": 1600,
        "scheduling-policy": "LIFO",
        "preferred-dataset-splits": int(case["chunks"]),
    }
    for collective in ("all-reduce", "reduce-scatter", "all-gather", "all-to-all"):
        asked = collective.replace("-", "_") == case["collective"]
        keys[f"{collective}-implementation"] = case["algorithm"] if asked else "ring"
    return parse_system(keys)


def workload(case: dict[str, str]) -> Workload:
    word = case["collective"].replace("_", "").upper()
    size = int(case["size_mib"]) << 20
    return parse_workload(f"MICRO\n1\nlayer -1 0 NONE 0 0 NONE 0 0 {word} {size} 0\n", "micro")


@pytest.mark.skipif(reference() is None, reason="the measurements are not beside this repository")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", rows(), ids=lambda case: "-".join(list(case.values())[:9]))
def test_first_and_last_finish_are_met(case: dict[str, str], tmp_path: Path) -> None:
    result = astra_ns3.run(workload=workload(case), system=system(case), network=config_file(case, tmp_path))
    finish_ns = result.npus["finish_us"] * 1000
    tolerance = TOLERANCE[case["topology"]]
    assert finish_ns.max() == pytest.approx(float(case["finish_last_ns"]), rel=tolerance)
    assert finish_ns.min() == pytest.approx(float(case["finish_first_ns"]), rel=tolerance)
