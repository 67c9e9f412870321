"""Pictures and tables of docs/hardware.md: our bus bandwidths beside published tables of nccl-tests.

    python benchmarks/nccl_figures.py FOLDER [--png DIR] [--keep FILE]

FOLDER has the tables as CSV, under the names in ``nccl_tables.CASES`` (docs/hardware.md names their sources). All
tables are played, docs/figures/nccl-*.svg are drawn, docs/tables/nccl-tests.csv gets a row for each, and what stands
between ``<!-- begin: NAME -->`` and ``<!-- end: NAME -->`` in docs/hardware.md and docs/nccl.md is written anew. Takes
some ten minutes of one core. ``--keep`` writes what was played to a file and reads it from there the next time;
``--png`` draws PNG copies into a folder. Needs matplotlib, which the extra ``plots`` installs.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import click
import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter
from nccl_beside import Row, Table, played, size_text
from nccl_fits import fits_text
from nccl_tables import CASES
from nccl_text import GROUPS, block_texts, file_rows

mpl.rcParams["svg.hashsalt"] = "nccl"  # the same names inside each time it is drawn
DOCS = Path(__file__).resolve().parents[1] / "docs"
# Okabe and Ito's colours, told apart by the colour-blind; markers and dashes tell them apart without colour.
_MEASURED = {"color": "black", "marker": "o", "markersize": 2.5, "linewidth": 0.8}
_OURS = {"color": "#0072B2", "linewidth": 1.6}
_BASELINE = {"color": "#D55E00", "linewidth": 1.2, "linestyle": (0, (4, 2))}
_COLUMNS = 3
_TICKS = 5
_WIDE = 12
"""Bandwidths further apart than this are drawn on a logarithmic axis."""


def draw(titles: Mapping[str, str], tables: Mapping[str, Table]) -> Figure:
    """Small multiples of bus bandwidth over size: measured, ours, NCCL's formulas."""
    lines = -(-len(titles) // _COLUMNS)
    figure = Figure(figsize=(10.0, 0.5 + 2.35 * lines), layout="constrained")
    axes = figure.subplots(lines, _COLUMNS, squeeze=False).ravel()
    for ax, (name, title) in zip(axes, titles.items(), strict=False):
        _draw_one(ax, title, tables[name].rows)
    for ax in axes[len(titles) :]:
        ax.axis("off")
    handles = {line.get_label(): line for ax in axes for line in ax.get_lines()}
    figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=3, frameon=False)
    figure.supxlabel("size", fontsize=9)
    figure.supylabel("bus bandwidth (GB/s)", fontsize=9)
    return figure


def _draw_one(ax: Axes, title: str, rows: Sequence[Row]) -> None:
    sizes = [row.bytes for row in rows]
    if any(row.baseline for row in rows):
        ax.plot(sizes, [row.baseline for row in rows], label="NCCL's own formulas", **_BASELINE)
    ax.plot(sizes, [row.ours for row in rows], label="ours", **_OURS)
    ax.plot(sizes, [row.measured for row in rows], label="measured", **_MEASURED)
    ax.set_title(title, fontsize=8.5)
    ax.set_xscale("log", base=2)
    _set_heights(ax, [value for row in rows for value in (row.measured, row.ours, row.baseline) if value > 0])
    first, last = sizes[0].bit_length() - 1, sizes[-1].bit_length() - 1
    apart = next(apart for apart in (1, 2, 3, 4, 6, 8, 12) if (last - first) // apart < _TICKS)
    ax.set_xticks([1 << power for power in range(last, first - 1, -apart)])
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: size_text(int(value))))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.tick_params(labelsize=7.5)
    ax.grid(True, which="major", color="0.9", linewidth=0.6)
    ax.set_axisbelow(True)


def _set_heights(ax: Axes, values: Sequence[float]) -> None:
    """From zero where that shows all values, else logarithmic."""
    if max(values) < _WIDE * min(values):
        ax.set_ylim(0, max(values) * 1.25)
        return
    ax.set_yscale("log")
    ax.set_ylim(max(min(values) / 1.5, 0.01), max(values) * 1.8)
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.yaxis.set_minor_formatter(NullFormatter())


def write_blocks(page: Path, texts: Mapping[str, str]) -> None:
    """Replace what stands between the marks of each block, and print the blocks that the page only tells in words."""
    text = page.read_text(encoding="utf-8")
    for name, block in texts.items():
        marked = re.compile(rf"(<!-- begin: {name} -->\n).*?(<!-- end: {name} -->)", re.DOTALL)
        text, found = marked.subn(lambda match, block=block: f"{match[1]}\n{block}\n\n{match[2]}", text)
        if found > 1:
            raise click.ClickException(f"{page}: found {found} blocks '{name}', expected at most one")
        if not found:
            click.echo(f"{name}\n\n{block}\n")
    page.write_text(text, encoding="utf-8")


def _kept(file: Path | None, folder: Path) -> dict[str, Table]:
    if file is not None and file.exists():
        documents = json.loads(file.read_text(encoding="utf-8"))
        return {one["name"]: Table(**{**one, "rows": tuple(Row(**row) for row in one["rows"])}) for one in documents}
    tables = {case.name: played(case, folder) for case in CASES}
    if file is not None:
        file.write_text(json.dumps([asdict(table) for table in tables.values()]), encoding="utf-8")
    return tables


@click.command()
@click.argument("folder", type=click.Path(exists=True, path_type=Path))
@click.option("--png", type=click.Path(path_type=Path), help="Folder for PNG copies of the pictures.")
@click.option("--keep", type=click.Path(path_type=Path), help="File that keeps what was played.")
def main(folder: Path, png: Path | None, keep: Path | None) -> None:
    """Draw the pictures and write the tables of docs/hardware.md, and the fits of docs/nccl.md."""
    tables = _kept(keep, folder)
    for group, titles in GROUPS.items():
        figure = draw(titles, tables)
        figure.savefig(DOCS / "figures" / f"nccl-{group}.svg", metadata={"Date": None})
        if png is not None:
            figure.savefig(png / f"nccl-{group}.png", dpi=110)
    with (DOCS / "tables" / "nccl-tests.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(file_rows(tables))
    write_blocks(DOCS / "hardware.md", block_texts(tables, folder))
    write_blocks(DOCS / "nccl.md", {"fits": fits_text(folder)})


if __name__ == "__main__":
    main()
