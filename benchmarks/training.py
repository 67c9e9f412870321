"""Training loops on many NPUs, analytical: what their logic takes; prints a JSON line for each case.

``layers``: 1,000 layers on 1,024 NPUs that only compute. ``layers-reduced``: the same, and a hierarchical all-reduce of
each layer's gradients (ring in nodes of 8, halving-doubling among 128). ``gpt-3`` and ``gpt-3-sequence``: that model's
file, tensor 8, pipeline 8, data 16, 32 micro-batches, one chunk a collective, without and with sequence parallelism;
collectives don't slow its computing down, so NPUs are played together. ``gpt-3-file``: as its file has it, which takes
minutes; ``setup_seconds`` of ``wall_seconds`` go by before the first event.
Seconds are of the processor, start-up included; a process each.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

INPUTS = Path(__file__).resolve().parent.parent / "inputs"
NETWORK = "topology: [Switch, Switch]\nnpus_count: [8, 128]\nbandwidth: [400.0, 50.0]\nlatency: [500.0, 500.0]\n"
LAYERS = 1000
CASES = ("layers", "layers-reduced", "gpt-3", "gpt-3-sequence", "gpt-3-file")


def workload(case: str, folder: Path) -> Path:
    """The workload's file."""
    if case.startswith("layers"):
        collective = "ALLREDUCE 1048576" if case == "layers-reduced" else "NONE 0"
        rows = "".join(f"layer{n} -1 1000 NONE 0 1000 NONE 0 1000 {collective} 0\n" for n in range(LAYERS))
        path = folder / "layers.txt"
        path.write_text(f"DATA\n{LAYERS}\n{rows}", encoding="utf-8")
        return path
    model = INPUTS / "workload/models/gpt-3-175b.yaml"
    if case == "gpt-3-file":
        return model
    text = model.read_text(encoding="utf-8")
    assert "sequence: on" in text
    assert "compute: A100-80GB" in text
    text = text.replace("compute: A100-80GB", "compute: {device: A100-80GB, overlap_slowdown: 1}")
    path = folder / "gpt-3.yaml"
    path.write_text(
        text if case == "gpt-3-sequence" else text.replace("sequence: on", "sequence: off"), encoding="utf-8"
    )
    return path


def system(case: str) -> str:
    """One chunk a collective."""
    second = "halvingDoubling" if case == "layers-reduced" else "ring"
    kinds = ("all-reduce", "all-gather", "reduce-scatter")
    implementations = "".join(f"{kind}-implementation: ring_{second}\n" for kind in kinds)
    return (
        "scheduling-policy: LIFO\nendpoint-delay: 10\nactive-chunks-per-dimension: 1\npreferred-dataset-splits: 1\n"
        f"{implementations}all-to-all-implementation: direct_direct\ncollective-optimization: baseline\n"
    )


PLAY = """
import json, resource, sys
from astra_ns3 import run
result = run(workload=sys.argv[1], system=sys.argv[2], network=sys.argv[3], backend="analytical", isolated=False)
usage = resource.getrusage(resource.RUSAGE_SELF)
timing = {name: round(result.metadata["timing"][name], 2) for name in ("setup_seconds", "wall_seconds")}
cpu = round(usage.ru_utime + usage.ru_stime, 1)
print(json.dumps({"cpu_seconds": cpu, "peak_mb": usage.ru_maxrss // 1000, **timing}))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", default=CASES, help=f"of {', '.join(CASES)}")
    for case in parser.parse_args().cases:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "system.txt").write_text(system(case), encoding="utf-8")
            (folder / "network.yml").write_text(NETWORK, encoding="utf-8")
            files = [str(workload(case, folder)), str(folder / "system.txt"), str(folder / "network.yml")]
            done = subprocess.run([sys.executable, "-c", PLAY, *files], check=True, capture_output=True, text=True)
            print(json.dumps({"case": case, **json.loads(done.stdout.splitlines()[-1])}), flush=True)


if __name__ == "__main__":
    main()
