"""Tables of the pages of studies are what a study's points come to today: a few cells of each, played again."""

from __future__ import annotations

import csv
from pathlib import Path
from types import ModuleType

import pytest
import yaml
from support.documents.page_maker import load_make_pages

import astra_ns3

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "studies"
CONTROLS = ("control=none", "control=timely", "control=hpcc-pint")
SPEED_UP = "models where computing=0.1 and policy=baseline: model, bandwidth, finish_us over policy=Themis, SCF"
Cells = dict[tuple[str, str], str]


@pytest.fixture(scope="module")
def make_pages() -> ModuleType:
    return load_make_pages()


def cells(text: str, marker: str) -> Cells:
    """The numbers of the table below a marker in a text, by the head of the row and that of the column."""
    lines = text[text.index(f"<!-- {marker} -->\n") :].splitlines()[1:]
    table = [line.strip("| ").split(" | ") for line in lines[: lines.index("<!-- end -->")]]
    heads = table[0]
    return {(row[0], head): cell for row in table[2:] for head, cell in zip(heads[1:], row[1:], strict=True)}


def cells_of_file(name: str, marker: str) -> Cells:
    """The same of the table that is a file of a page, as ``tables.yaml`` lists it."""
    listed = yaml.safe_load((PAGES / "tables.yaml").read_text(encoding="utf-8"))[name]
    (file,) = (file for file, made_by in listed.items() if made_by == marker)
    with (PAGES / "tables" / f"{file}.csv").open(encoding="utf-8", newline="") as lines:
        heads, *rows = csv.reader(lines)
    return {(row[0], head): cell for row in rows for head, cell in zip(heads[1:], row[1:], strict=True)}


@pytest.mark.parametrize(
    ("name", "only", "marker", "count"),
    [
        pytest.param(
            "roce",
            ("part=platforms", "platform=nvswitch-clos", "collective=all-reduce", *CONTROLS),
            "pivot: platforms where collective=all-reduce: platform, control, finish_us over none",
            3,
            id="roce: controls whose defaults changed",
        ),
        pytest.param(
            "themis",
            ("part=models", "model=ResNet-50", "bandwidth=50 / 50 / 50", "computing=0.1"),
            f"pivot: {SPEED_UP}",
            1,
            id="themis: a model's speed-up",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "themis",
            ("part=torus-computing", "computing=0.125"),
            "table: torus-computing: computing, finish_us, exposed_percent = 100 * exposed_us / finish_us",
            2,
            id="themis: a torus",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "dlrm",
            ("part=buffer-flat", "system=flat-800g", "buffer=64MB", "buffer=1MB", "min_rto=300us"),
            "pivot: buffer-flat + buffer-hier where buffer=1MB: system, min_rto, finish_us over buffer=64MB",
            1,
            id="dlrm: a buffer and a timeout",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_cells_of_a_page_are_what_its_points_come_to(
    make_pages: ModuleType, tmp_path: Path, name: str, only: tuple[str, ...], marker: str, count: int
) -> None:
    astra_ns3.study(ROOT / "inputs" / "studies" / f"{name}.yaml", tmp_path / name, jobs=1, only=only)
    folder = make_pages.Folder(tmp_path / name)
    here = marker.replace(" + buffer-hier", "")
    found = cells(make_pages.made(f"<!-- {here} -->\n<!-- end -->\n", folder, tmp_path), here)
    assert len(found) == count
    shown = cells_of_file(name, marker)
    assert {key: shown[key] for key in found} == {key: cell.replace(",", "") for key, cell in found.items()}
