"""All benchmarks; prints a table of figures beside their targets.

The machine is shared and noisy, so what counts are ratios within one run: our program and the stock one take turns, and
the median of the rounds is compared. `make benchmark` builds the stock program and calls this.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
INPUTS = HERE.parent / "inputs"


def measured(*command: object) -> dict[str, Any]:
    """The object that a benchmark program printed."""
    done = subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout[done.stdout.index("{") :]))


def row(name: str, figure: str, target: str) -> None:
    print(f"{name:<76}{figure:>24}   {target}", flush=True)


def tcp_cost(stock: Path, rounds: int) -> float:
    """CPU microseconds per data packet of the last case over two hops."""
    two_hops = 0.0
    for timestamps, sack in ((0, 1), (1, 1)):
        for hops, target in ((2, "at most 0.50, aim 0.33"), (4, "at most 0.33, aim 0.25")):
            options = [f"--hops={hops}", f"--timestamps={timestamps}", f"--sack={sack}"]
            ours, theirs, bare = [], [], []
            for _ in range(rounds):
                ours.append(measured(sys.executable, HERE / "fabric_tcp.py", *options)["us_per_data_packet"])
                theirs.append(measured(stock, *options)["us_per_data_packet"])
                bare.append(measured(stock, *options, "--queueDisc=false")["us_per_data_packet"])
            name = f"TCP, {hops} hops, SACK {'on' if sack else 'off'}, timestamps {'on' if timestamps else 'off'}"
            mine = statistics.median(ours)
            two_hops = mine if hops == 2 else two_hops
            for program, figures in (("stock", theirs), ("stock without its queue discs", bare)):
                other = statistics.median(figures)
                row(f"{name}: {program}", f"{mine:.1f} / {other:.1f} us = {mine / other:.2f}", target)
    return two_hops


def start_up(rounds: int) -> None:
    seconds = [measured(sys.executable, HERE / "startup.py")["first_event_seconds"] for _ in range(rounds)]
    row("start-up until the first event (warm)", f"{statistics.median(seconds):.2f} s", "at most 2 s")
    commands = measured(sys.executable, HERE / "startup.py", "--commands")
    quick = max(commands[f"{name}_cpu_seconds"] for name in ("version", "help", "tab"))
    row("CPU time of `--version`, `--help`, Tab", f"{quick:.2f} s", "at most 0.2 s")
    row("CPU time of `validate`, two NPUs", f"{commands['validate_cpu_seconds']:.2f} s", "at most 0.35 s")
    row("CPU time of `run --help`", f"{commands['run_help_cpu_seconds']:.2f} s", "at most 0.2 s")
    ratio = f"{commands['run_cpu_seconds']:.2f} s, {commands['run_over_cppyy']:.1f} times that of `import cppyy`"
    row("CPU time of `run`, two NPUs over RoCE", ratio, "at most 2 times")
    memory = f"{commands['run_peak_mb']:.0f} MB, {commands['cppyy_peak_mb']:.0f} of `import cppyy` alone"
    row("  most memory of one process", memory, "at most 190 MB")
    row("  a further point of a study", f"{commands['further_point_cpu_seconds']:.3f} s", "at most 0.05 s")


def python_share() -> None:
    share = measured(sys.executable, HERE / "python_share.py")
    figure = f"{100 * share['python_share']:.1f}% of {share['wall_seconds']:.0f} s"
    row("Python's share, ring all-reduce, 64 NPUs, 128 chunks", figure, "at most 10%")


def case_study(scale: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        measured(
            *(sys.executable, "-m", "astra_ns3", "run", "--json", "--quiet"),
            *("-w", INPUTS / "workload/dlrm-128.txt", "-s", INPUTS / "system/flat-128.txt"),
            *("-n", INPUTS / "network/flat-100g.yaml", "--comm-scale", scale, "--num-passes", 2),
            *("-o", Path(folder) / "run"),
        )
        cost = json.loads((Path(folder) / "run" / "run.json").read_text())
    wall, events = cost["timing"]["wall_seconds"], cost["statistics"]["events"]
    memory = cost["memory"]["peak_above_idle_bytes"]
    row(f"DLRM of the case study, 128 NPUs, comm-scale {scale:g}, 2 passes", f"{wall:.0f} s", "at most 15 min")
    row("  its events, packets, memory above the idle program", f"{events / 1e6:.1f} M", "")
    row("", f"{cost['statistics']['packets'] / 1e6:.2f} M", "")
    row("", f"{memory / 1e6:.0f} MB", "")


def full_size(us_per_packet: float) -> None:
    """What the case study would take without scaling, from its packets and the cost of one measured above."""
    forecast = measured(
        *(sys.executable, "-m", "astra_ns3", "validate", "--json"),
        *("-w", INPUTS / "workload/dlrm-128.txt", "-s", INPUTS / "system/flat-128.txt"),
        *("-n", INPUTS / "network/flat-100g.yaml", "--num-passes", 2),
    )["forecast"]
    minutes = forecast["packets"] * us_per_packet / 60e6
    row(f"  at full size, estimated: {forecast['packets'] / 1e6:.0f} M packets", f"{minutes:.0f} min", "")


def analytical() -> None:
    figures = measured(sys.executable, HERE / "analytical.py")
    row("analytical, ring all-reduce, 4 chunks", f"{figures['ring_all_reduce_seconds']:.3f} s", "at most 0.1 s")
    row("analytical, ring all-to-all, 4 chunks", f"{figures['ring_all_to_all_seconds']:.2f} s", "at most 1.9 s")
    rate = figures["executor_messages_per_second"] / 1e6
    row("executor, ring all-reduce, 128 chunks", f"{rate:.2f} M messages/s", "at least 1 M/s")


def roce(rounds: int) -> None:
    """CPU time and memory of RoCE, the median of the rounds: of the event loop alone, and of the whole process."""
    for case, key, unit, target in (
        ("ring-8", "us_per_data_packet", "us a data packet", "at most 1.0, aim 0.6"),
        ("ring-128", "cpu_seconds", "s", "at most 0.7"),
        ("ring-128-clos", "cpu_seconds", "s", "at most 1.0, and 60 MB"),
        ("permutation-128-three-tiers", "us_per_data_packet", "us a data packet", "at most 2.8, aim 1.8"),
    ):
        found = [measured(sys.executable, HERE / "roce.py", case) for _ in range(rounds)]
        memory = statistics.median(each["memory_above_idle_mb"] for each in found)
        cost = statistics.median(each[key] for each in found)
        row(f"RoCE, {case}", f"{cost:.2f} {unit}", target)
        whole = statistics.median(each["process_cpu_seconds"] for each in found)
        row("  the whole process, to compare with another program's", f"{whole:.2f} s", "")
        row("  memory above the idle program", f"{memory:.0f} MB", "")


def timeline() -> None:
    """A trace of a million events for Perfetto."""
    found = measured(sys.executable, HERE / "timeline.py")
    row(f"timeline of {found['events'] / 1e6:.1f} M events", f"{found['cpu_seconds']:.1f} s", "at most 20 s a million")
    row("  memory above the program's", f"{found['memory_above_mb']:.0f} MB", "at most 100 MB")


def topologies() -> None:
    """Large networks built, a collective on one, and TCP over more hops."""
    targets = {1024: "at most 3 s and 300 MB", 8192: "at most 30 s and 2 GB", 65536: "at most 60 s and 8 GB"}
    for hosts, target in targets.items():
        for transport in ("roce", "tcp") if hosts < 65536 else ("roce",):
            found = measured(sys.executable, HERE / "topologies.py", f"ready-{hosts}-{transport}")
            figure = f"{found['seconds']:.2f} s, {found['memory_above_idle_mb']:.0f} MB"
            row(f"fat tree of {hosts:,} hosts with {transport}, built, routed and ready", figure, target)
    for hosts, target in ((1024, "at most 0.6 and 0.25 s"), (8192, "")):
        found = measured(sys.executable, HERE / "topologies.py", f"first-event-{hosts}")
        figure = (
            f"{found['first_cpu_seconds']:.2f} and {found['repeated_cpu_seconds']:.2f} s, {found['peak_mb']:.0f} MB"
        )
        row(f"CPU to the first event of a ring on {hosts:,} hosts, first and again; peak", figure, target)
    hops = measured(sys.executable, HERE / "topologies.py", "tcp-hops")
    row("TCP, a data packet over 4 hops against 2 hops", f"{hops['ratio']:.2f}", "at most 1.15")
    found = measured(sys.executable, HERE / "topologies.py", "hierarchical-1024")
    figure = f"{found['wall_seconds']:.0f} s, {found['memory_above_idle_mb']:.0f} MB"
    row("hierarchical all-reduce of 16 MiB, 1,024 NPUs, RoCE", figure, "runs to its end")
    row("  its data packets", f"{found['data_packets'] / 1e6:.1f} M", "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stock", type=Path, required=True, help="the stock ns-3 program, built by cmake")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--comm-scale", type=float, default=0.01, help="of the 128-NPU case study")
    options = parser.parse_args()
    start_up(options.rounds)
    analytical()
    us_per_packet = tcp_cost(options.stock, options.rounds)
    roce(options.rounds)
    topologies()
    timeline()
    python_share()
    case_study(options.comm_scale)
    full_size(us_per_packet)


if __name__ == "__main__":
    main()
