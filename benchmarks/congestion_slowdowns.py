"""Slowdowns of flows under several congestion controls, on HPCC's fat tree of 320 hosts, as its paper compares them.

    python benchmarks/congestion_slowdowns.py [--flows N] [--sizes S ...] [--load L ...] [--control C ...] [-o FOLDER]

Prints a row for each case: the p50, p95 and p99 of slowdowns of short, middle and long flows. Source of topology, sizes
and loads: Li et al., HPCC, SIGCOMM 2019, sections 5.1 and 5.3. With a folder the runs stay there, for
``astra-ns3 plot FOLDER/CASE/job-CONTROL slowdown --beside ...``.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from astra_ns3.experiments.result import Result

SCENARIO = Path(__file__).parents[1] / "inputs/scenarios/fat-tree-320.yaml"
NETWORK = Path(__file__).parents[1] / "inputs/network/roce-fat-tree-320.yaml"
CONTROLS = ("hpcc", "dctcp", "dcqcn", "timely")
BANDS = {"web-search": (30_000, 1_000_000), "hadoop": (1_000, 100_000)}
"""Sizes up to which flows are short, and above which they are long."""


def row(sizes: str, load: str, control: str, flows: int, folder: Path) -> str:
    """Play a case and return its row."""
    entry = {"name": control, "kind": "poisson", "sizes": sizes, "load": float(load), "flows": flows, "seed": 1}
    scenario, out = folder / f"{sizes}-{load}-{control}.yaml", folder / f"{sizes}-{load}-{control}"
    scenario.write_text(json.dumps({"network": str(NETWORK), "traffic": [entry]}))
    began = time.monotonic()
    words = ["run", "--scenario", scenario, "--set", f"network.transport.congestion_control.kind={control}"]
    words += ["--run-name", control, "--quiet", "--overwrite", "-o", out]
    done = subprocess.run([sys.executable, "-m", "astra_ns3", *map(str, words)], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    seconds = time.monotonic() - began
    table = Result.load(out / f"job-{control}").completions
    slowdown = ((table["end_ps"] - table["start_ps"]) / table["ideal_ps"]).to_numpy()
    short, long = BANDS[sizes]
    size = table["bytes"].to_numpy()
    cells = [sizes, f"{float(load):.0%}", control, f"{len(table):,}"]
    for inside in (size <= short, (size > short) & (size <= long), size > long):
        some = np.percentile(slowdown[inside], [50, 95, 99], method="inverted_cdf")
        cells.append(" / ".join(f"{each:.3g}" for each in some))
    return f"| {' | '.join([*cells, f'{seconds:.0f}'])} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flows", type=int, default=20_000)
    parser.add_argument("--sizes", nargs="+", default=[*BANDS])
    parser.add_argument("--load", nargs="+", default=["0.3", "0.5"])
    parser.add_argument("--control", nargs="+", default=CONTROLS)
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    columns = ("sizes", "load", "control", "flows", "short p50 / p95 / p99", "middle", "long", "s")
    print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}", flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) if options.output is None else options.output
        folder.mkdir(parents=True, exist_ok=True)
        for sizes in options.sizes:
            for load in options.load:
                for control in options.control:
                    print(row(sizes, load, control, options.flows, folder), flush=True)


if __name__ == "__main__":
    main()
