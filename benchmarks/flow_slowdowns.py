"""How far slowdowns of single flows are off on flows: HPCC's fat tree of 320 hosts, docs/tables/flow-slowdowns.csv.

    python benchmarks/flow_slowdowns.py [--flows N] [--case SIZES,LOAD,CONTROL ...]

Each case is played with packets and with flows. A flow's slowdown is its time over the least it could take alone, so
the ratio of two slowdowns is that of the times. ``mean`` and ``p90``: of the sizes of the flows' relative errors, which
is how m4 (Li et al., 2025, arXiv 2503.01770) counts them. ``slowdown``: the mean over all flows, of either backend.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from astra_ns3.experiments.result import Result

PODS, TORS, AGGREGATIONS, CORES, HOSTS_PER_TOR = 5, 4, 4, 16, 16
SYSTEM = Path(__file__).parents[1] / "inputs/system/flat.yaml"
HOSTS = PODS * TORS * HOSTS_PER_TOR
MEAN_BYTES = {"web-search": 1.6e6, "hadoop": 120e3, "storage": 7e3}
"""About; only to choose how long flows keep starting."""
CASES = (
    "web-search,0.3,dctcp",
    "web-search,0.5,dctcp",
    "web-search,0.5,hpcc",
    "web-search,0.5,dcqcn",
    "hadoop,0.5,dctcp",
)


def fat_tree_text() -> str:
    """HPCC's tree: hosts at 100 Gb/s, switches among themselves at 400 Gb/s, 1 us a link, 1:1 at each level."""
    tors = [HOSTS + i for i in range(PODS * TORS)]
    aggregations = [tors[-1] + 1 + i for i in range(PODS * AGGREGATIONS)]
    cores = [aggregations[-1] + 1 + i for i in range(CORES)]
    links = [(host, tors[host // HOSTS_PER_TOR], 100) for host in range(HOSTS)]
    for pod in range(PODS):
        above = aggregations[pod * AGGREGATIONS : (pod + 1) * AGGREGATIONS]
        links += [(tor, one, 400) for tor in tors[pod * TORS : (pod + 1) * TORS] for one in above]
        links += [(one, core, 400) for i, one in enumerate(above) for core in cores[i * 4 : i * 4 + 4]]
    switches = tors + aggregations + cores
    lines = [f"{HOSTS + len(switches)} {len(switches)} {len(links)}", " ".join(map(str, switches))]
    return "\n".join([*lines, *(f"{one} {other} {rate}Gbps 0.001ms 0" for one, other, rate in links)]) + "\n"


def network(folder: Path, control: str) -> Path:
    """Write the network's two files."""
    (folder / "tree.topo").write_text(fat_tree_text())
    marks = {"kmin": "100KB", "kmax": "400KB", "pmax": 0.2}
    switch = {"buffer": "32MB", "pfc": {}} | ({} if control in ("none", "hpcc") else {"ecn": marks})
    topology = {"kind": "file", "path": "tree.topo", "switch": switch}
    transport = {"kind": "roce", "congestion_control": control, "queue_pairs": "per-message"}
    path = folder / "network.yaml"
    path.write_text(json.dumps({"topology": topology, "transport": transport}))
    return path


def command(*words: object) -> None:
    """Run one of ours."""
    done = subprocess.run([sys.executable, "-m", "astra_ns3", *map(str, words)], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)


def row(case: str, count: int) -> list[str]:
    """Return the case's row of the table."""
    sizes, load, control = case.split(",")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        duration_ns = round(count * MEAN_BYTES[sizes] * 8 / (HOSTS * 100 * float(load)))
        drawn = (
            "--npus",
            HOSTS,
            "--sizes",
            sizes,
            "--rate",
            "100Gbps",
            "--load",
            load,
            "--duration",
            f"{duration_ns}ns",
        )
        command("generate", "flows", "poisson", *drawn, "-o", folder / "flows.csv")
        net, tables, seconds = network(folder, control), [], []
        for backend in ("ns3", "flow"):
            began = time.monotonic()
            words = (
                "-w",
                folder / "flows.csv",
                "-s",
                SYSTEM,
                "-n",
                net,
                "--backend",
                backend,
                "--record",
                "flows",
                "--quiet",
            )
            command("run", *words, "-o", folder / backend)
            seconds.append(time.monotonic() - began)
            key = ["source", "destination", "bytes", "start_ps"]
            tables.append(Result.load(folder / backend).flows.sort_values(key, ignore_index=True))
    packets, flows = ((table["end_ps"] - table["start_ps"]) for table in tables)
    if not tables[0]["bytes"].equals(tables[1]["bytes"]):
        raise SystemExit("the backends don't hold the same flows")
    errors = (flows / packets - 1).abs()
    means = [float((times / table["ideal_ps"]).mean()) for times, table in zip((packets, flows), tables, strict=True)]
    print(f"{len(errors):,} flows, {seconds[0]:.0f} and {seconds[1]:.0f} s", file=sys.stderr, flush=True)
    cells = [sizes, f"{float(load):.0%}", control, f"{means[0]:.2f}", f"{means[1]:.2f}"]
    return [*cells, f"{errors.mean():.1%}", f"{errors.quantile(0.9):.1%}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flows", type=int, default=5_000, help="about so many a case")
    parser.add_argument("--case", action="append", help="such as web-search,0.5,dctcp")
    options = parser.parse_args()
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(("sizes", "load", "control", "slowdown packets", "slowdown flow", "error mean", "error p90"))
    for case in options.case or CASES:
        table.writerow(row(case, options.flows))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
