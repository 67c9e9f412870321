"""Draws docs/images/demo.png: what `make demo` prints, and when each of its collectives ran.

usage: .venv/bin/python docs/images/draw_demo.py results/demo docs/images/demo.png
Needs matplotlib, which the extra "plots" brings.
"""

from __future__ import annotations

import argparse
import csv
import io
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.patches import Patch

from astra_ns3 import Result
from astra_ns3.report.summary import run_text

BACKGROUND, TEXT = "#1b1e23", "#d7dae0"
COLOURS = {"ALLREDUCE": "#4c78a8", "ALLTOALL": "#f58518"}
INCHES_PER_LINE, TIMELINE_INCHES = 0.19, 3.3
COMMAND = "$ make demo"
SHOWN_FOLDER = Path("~/astra-ns3/results/demo")


def draw_terminal(figure: Any, text: str) -> None:
    """The printed table as on a terminal."""
    figure.set_facecolor(BACKGROUND)
    figure.text(0.015, 0.97, text, color=TEXT, family="monospace", fontsize=9.5, va="top", linespacing=1.3)


def draw_timeline(axes: Any, rows: list[dict[str, str]]) -> None:
    """One bar per collective, from its issue to its end on the last NPU."""
    for place, row in enumerate(rows):
        axes.barh(place, float(row["duration_us"]), left=float(row["start_us"]), color=COLOURS[row["kind"]], height=0.7)
    axes.set_yticks(range(len(rows)), [f"{row['layer']}, {row['phase']}" for row in rows], fontsize=8)
    axes.invert_yaxis()
    axes.set_xlabel("simulated time (us)", fontsize=9)
    axes.set_title("collectives.csv: from issue to end; the latest goes first (LIFO)", fontsize=9, loc="left")
    axes.tick_params(axis="x", labelsize=8)
    swatches = [Patch(color=colour, label=kind) for kind, colour in COLOURS.items()]
    axes.legend(handles=swatches, fontsize=8, loc="lower right", frameon=False)
    axes.set_xlim(left=0)
    axes.spines[["top", "right"]].set_visible(False)


def draw(folder: Path, picture: Path) -> None:
    """Write the picture of the run that ``folder`` holds."""
    result = Result.load(folder)
    text = f"{COMMAND}\n{run_text(result.metadata, SHOWN_FOLDER)}"
    rows = list(csv.DictReader(io.StringIO((folder / "collectives.csv").read_text(encoding="utf-8"))))
    height = INCHES_PER_LINE * (text.count("\n") + 2)
    figure = Figure(figsize=(9, height + TIMELINE_INCHES), layout="constrained")
    parts: Any = figure.subfigures(2, 1, height_ratios=[height, TIMELINE_INCHES])
    terminal, timeline = parts
    draw_terminal(terminal, text)
    draw_timeline(timeline.subplots(), rows)
    figure.savefig(picture, dpi=110, metadata={"Software": None})


def main() -> None:
    """Read the folder and the picture's name from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="a finished run of `make demo`")
    parser.add_argument("picture", type=Path, help="where to write")
    arguments = parser.parse_args()
    draw(arguments.folder, arguments.picture)


if __name__ == "__main__":
    main()
