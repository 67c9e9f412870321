#!/usr/bin/env python3
"""Runs the cases measured on ASTRA-sim and writes how far we are from them into docs/astra-sim-compatibility.md.

All cases stand in docs/tables/astra-sim-1.0.csv and astra-sim-2.csv, and the page has a summary of them.
The measurements lie beside the repository, in ``shared/reference``; where they are absent nothing is changed.
"""

from __future__ import annotations

import csv
import logging
import shlex
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import astra_ns3
from astra_ns3.config.core.document import Document
from astra_ns3.config.network.analytical_network import AnalyticalNetwork, parse_analytical
from astra_ns3.config.system import SystemConfig
from astra_ns3.config.workload import Workload
from astra_ns3.errors import InputError
from astra_ns3.system.file import parse_system
from astra_ns3.workload.files.astra_sim import parse_workload

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = ROOT.parent / "shared" / "reference"
PAGE = ROOT / "docs" / "astra-sim-compatibility.md"
CASES = ROOT / "docs" / "tables" / "astra-sim-1.0.csv"
POINTS = ROOT / "docs" / "tables" / "astra-sim-2.csv"
TOLERANCE_NS = 1.0
NS_PER_US = 1000
VERSION_2_BYTES = 1 << 20
ALGORITHM_KEYS = ("all_reduce", "reduce_scatter", "all_gather", "all_to_all")
BACKENDS = {"congestion-unaware": "analytical", "congestion-aware": "analytical-queues"}

Row = dict[str, str]


def main() -> int:
    """Write both files and their summaries; the status is 0 also without measurements."""
    if not REFERENCE.is_dir():
        sys.stdout.write(f"{REFERENCE}: no measurements here, nothing done\n")
        return 0
    logging.disable(logging.WARNING)  # collectives that a loop never issues, which the files have on purpose
    text = PAGE.read_text(encoding="utf-8")
    for name, lines in (("version 1.0", version_1()), ("version 2", version_2())):
        text = replaced(text, name, lines)
    PAGE.write_text(text, encoding="utf-8")
    sys.stdout.write(f"wrote {PAGE}\n")
    return 0


def version_1() -> list[str]:
    """Write all cases of version 1.0 into their file; return the lines that the page has of them."""
    rows, near = [], 0
    folder = REFERENCE / "astra-sim-1.0"
    for case in read(folder / "expected.csv"):
        expected_ns = float(case["finish_us"]) * NS_PER_US
        preset_ns = finish_ns(folder, case, "astra-sim-1.0")
        near += round(abs(preset_ns - expected_ns), 3) <= TOLERANCE_NS
        files = (case[name] for name in ("workload", "network", "system"))
        options = " ".join(filter(None, (f"-p {case['passes']}", case["options"])))
        times = f"{expected_ns / NS_PER_US:.3f}", f"{preset_ns / NS_PER_US:.3f}", own_finish(folder, case)
        rows.append((case["id"], *files, options, *times))
    titles = ("Case", "Workload", "Network", "System", "Options", "ASTRA-sim (us)", "preset (us)", "our rules (us)")
    with CASES.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([titles, *rows])
    return [f"{near} of {len(rows)} finish times agree within {TOLERANCE_NS:g} ns.", "", *own_rules(rows)]


def own_rules(rows: Iterable[Sequence[str]]) -> list[str]:
    """How far our own rules are from ASTRA-sim's, as a table of cases by their difference."""
    *_, theirs, _, ours = zip(*rows, strict=True)
    pairs = [(float(a), float(b)) for a, b in zip(theirs, ours, strict=True) if b != "refused"]
    differences = sorted((abs(b / a - 1), b / a - 1) for a, b in pairs)
    near, middle = (sum(size <= most for size, _ in differences) for most in (0.001, 0.01))
    lines = [("within 0.1%", near), ("0.1 to 1%", middle - near)]
    lines += [(f"more, at most {differences[-1][1]:+.1%}", len(differences) - middle)]
    lines += [("refused", ours.count("refused"))]
    return table(("Our own rules", "Cases"), [(words, str(cases)) for words, cases in lines])


def own_finish(folder: Path, case: Row) -> str:
    """When a case ends by our own rules, in microseconds; some of its rules we refuse."""
    try:
        return f"{finish_ns(folder, case, 'none') / NS_PER_US:.3f}"
    except InputError:
        return "refused"


def finish_ns(folder: Path, case: Row, compat: str) -> float:
    """When a case of version 1.0 ends here."""
    scale = 1.0
    for option in shlex.split(case["options"]):
        name, _, value = option.partition("=")
        if name != "--comm-scale":
            raise ValueError(f"case {case['id']}: option '{name}' is not one of --comm-scale")
        scale = float(value)
    result = astra_ns3.run(
        workload=folder / "workload" / case["workload"],
        system=folder / "system" / case["system"],
        network=folder / "network" / case["network"],
        backend="analytical",
        compat=compat,
        passes=int(case["passes"]),
        comm_scale=scale,
    )
    return result.finish_ns


def version_2() -> list[str]:
    """Write the points of version 2, when the first and the last NPU end; return the line that the page has of them."""
    rows, largest = [], 0.0
    for point in read(REFERENCE / "astra_analytical.csv"):
        result = astra_ns3.run(
            workload=point_workload(point),
            system=point_system(point),
            network=point_network(point),
            backend=BACKENDS[point["model"]],
            compat="astra-sim-2",
        )
        ends_ns = result.npus["finish_us"].astype(float) * NS_PER_US
        expected_ns = [int(point["finish_first_ns"]), int(point["finish_last_ns"])]
        measured_ns = [float(ends_ns.min()), float(ends_ns.max())]
        difference = max(abs(ours / theirs - 1) for ours, theirs in zip(measured_ns, expected_ns, strict=True))
        largest = max(largest, difference)
        what = (point["model"], f"{point['topology']} of {point['n']}", point["collective"], point["algorithm"])
        times = (f"{expected_ns[0]} / {expected_ns[1]}", f"{measured_ns[0]:.0f} / {measured_ns[1]:.0f}")
        rows.append((*what, *times, f"{difference:.3%}"))
    titles = ("Model", "Network", "Collective", "Algorithm", "ASTRA-sim (ns)", "ours (ns)", "Difference")
    with POINTS.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([titles, *rows])
    return [f"In all {len(rows)} points, times differ by at most {largest:.3%}."]


def point_workload(point: Row) -> Workload:
    """One collective of 1 MiB."""
    word = point["collective"].replace("_", "").upper()
    text = f"MICRO\n1\nlayer -1 0 NONE 0 0 NONE 0 0 {word} {VERSION_2_BYTES} 0\n"
    return parse_workload(text, "point of version 2")


def point_system(point: Row) -> SystemConfig:
    """The system that the points were measured with: its memory moves 1600 bytes a nanosecond."""
    algorithms = dict.fromkeys(ALGORITHM_KEYS, "ring") | {point["collective"]: point["algorithm"]}
    keys: dict[str, object] = {f"{key.replace('_', '-')}-implementation": [name] for key, name in algorithms.items()}
    keys |= {"scheduling-policy": "LIFO", "endpoint-delay": 10, "active-chunks-per-dimension": 1}
    keys |= {"preferred-dataset-splits": int(point["chunks"]), "reduction-bytes-per-ns": 1600}
    return parse_system(keys)


def point_network(point: Row) -> AnalyticalNetwork:
    """One dimension, as version 2's YAML has it."""
    keys = {
        "topology": [point["topology"]],
        "npus_count": [int(point["n"])],
        "bandwidth": [float(point["bandwidth_GBps"])],
        "latency": [float(point["latency_ns"])],
    }
    return parse_analytical(Document("point of version 2", keys))


def read(path: Path) -> list[Row]:
    """The rows of a CSV file."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of a Markdown table."""
    head, *lines = (f"| {' | '.join(cells)} |" for cells in (titles, *rows))
    return [head, "|" + "---|" * len(titles), *lines]


def replaced(text: str, name: str, lines: Sequence[str]) -> str:
    """``text`` with new lines between the markers of ``name``."""
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
    before, found, rest = text.partition(begin)
    _, found_end, after = rest.partition(end)
    if not found or not found_end:
        raise ValueError(f"{PAGE}: the markers of '{name}' are missing")
    return before + begin + "".join(f"{line}\n" for line in lines) + end + after


if __name__ == "__main__":
    sys.exit(main())
