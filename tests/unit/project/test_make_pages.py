"""``docs/studies/make_pages.py`` on a folder made by hand."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import yaml
from PIL import Image
from support.documents.page_maker import load_make_pages

SCRIPT = Path(__file__).resolve().parents[3] / "docs" / "studies" / "make_pages.py"
HEADER = "part,system,scale,seed,status,finish_us,exposed_us,address,error\n"
ROWS = (
    "speed,flat,0.1,1,done,10.0,4.0,aa,\n"
    "speed,flat,0.1,2,done,30.0,6.0,bb,\n"
    "speed,hier,0.1,1,done,5.0,1.0,cc,\n"
    "speed,hier,0.1,2,done,5.0,1.0,dd,\n"
    "broken,flat,0.1,1,failed,,,ee,it broke\n"
)
STUDY = """
names: {network.size: scale}
parts:
  speed:
    title: Speed
    axes: {system: [flat, hier], network.size: [0.1]}
    figures: {numbers: {kind: table, y: [finish_us, exposed_us]}, finish: {kind: bars, title: Time of it}}
  broken: {axes: {system: [flat]}}
"""


@pytest.fixture(scope="module")
def make_pages() -> ModuleType:
    return load_make_pages()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "speed-laptop"
    (made / "figures").mkdir(parents=True)
    (made / "study.csv").write_text(HEADER + ROWS)
    (made / "study.yaml").write_text(STUDY)
    Image.new("RGB", (40, 30), "white").save(made / "figures" / "speed-finish.png")
    for address in ("aa", "bb", "cc", "dd", "ee"):
        (made / "points" / address).mkdir(parents=True)
        (made / "points" / address / "point.json").write_text(json.dumps({"cost": {"cpu_seconds": 24.0}}))
    return made


def written(make_pages: ModuleType, folder: Path, marker: str) -> list[str]:
    page = folder.parent / "page.md"
    page.write_text(f"Before\n<!-- {marker} -->\nold\n<!-- end -->\nafter\n")
    assert make_pages.main([str(folder), str(page)]) == 0
    lines = page.read_text().splitlines()
    assert lines[:2] == ["Before", f"<!-- {marker} -->"]
    assert lines[-2:] == ["<!-- end -->", "after"]
    return lines[2:-2]


def test_a_table_has_the_means_over_seeds(make_pages: ModuleType, folder: Path) -> None:
    assert written(make_pages, folder, "table: speed numbers") == [
        "| system | scale | finish_us | exposed_us |",
        "|---|---|---|---|",
        "| flat | 0.1 | 20 | 5 |",
        "| hier | 0.1 | 5 | 1 |",
    ]


def test_a_table_has_columns_worked_out(make_pages: ModuleType, folder: Path) -> None:
    assert written(make_pages, folder, "table: speed: system, share = 100 * exposed_us / finish_us") == [
        "| system | share |",
        "|---|---|",
        "| flat | 30 |",
        "| hier | 20 |",
    ]


def test_a_pivot_divides_by_a_column(make_pages: ModuleType, folder: Path) -> None:
    assert written(make_pages, folder, "pivot: speed: scale, system, finish_us over hier") == [
        "| scale | flat | hier |",
        "|---|---|---|",
        "| 0.1 | 4 | 1 |",
    ]


def test_a_pivot_divides_by_the_point_that_differs_in_one_axis(make_pages: ModuleType, folder: Path) -> None:
    marker = "pivot: speed where system=flat and scale=0.1: system, scale, finish_us over system=hier"
    assert written(make_pages, folder, marker) == ["| system | 0.1 |", "|---|---|", "| flat | 4 |"]


def test_a_figure_is_copied_and_the_second_time_gives_the_same_bytes(make_pages: ModuleType, folder: Path) -> None:
    assert written(make_pages, folder, "figure: speed finish") == ["![Time of it](figures/speed-speed-finish.png)"]
    picture = folder.parent / "figures" / "speed-speed-finish.png"
    before = picture.read_bytes()
    written(make_pages, folder, "figure: speed finish")
    assert picture.read_bytes() == before


def test_a_table_may_be_a_file_that_the_list_names(make_pages: ModuleType, folder: Path) -> None:
    listed = folder.parent / "tables.yaml"
    listed.write_text("page: {speed-all: 'pivot: speed: scale, system, 1000 * finish_us'}\nother: {x: 'none: y'}\n")
    written(make_pages, folder, "played")
    table = (folder.parent / "tables" / "speed-all.csv").read_text()
    assert table == "scale,flat,hier\n0.1,20000,5000\n"
    listed.write_text("page: {speed-all: 'figure: speed finish'}\n")
    assert make_pages.main([str(folder), str(folder.parent / "page.md")]) == 1


def test_every_table_of_a_study_that_is_a_file_is_listed_and_linked() -> None:
    pages = SCRIPT.parent
    listed = yaml.safe_load((pages / "tables.yaml").read_text(encoding="utf-8"))
    names = {name for tables in listed.values() for name in tables}
    assert names == {file.stem for file in (pages / "tables").glob("*.csv")}
    for page, tables in listed.items():
        text = (pages / f"{page}.md").read_text(encoding="utf-8")
        assert [name for name in tables if f"(tables/{name}.csv)" not in text] == []


def test_the_runs_played_are_counted(make_pages: ModuleType, folder: Path) -> None:
    assert written(make_pages, folder, "played") == ["5 runs take 2 minutes of CPU time."]
    shared = ROWS.replace("dd", "cc").replace("ee", "cc")
    (folder / "study.csv").write_text(HEADER + shared)
    words = "5 combinations of settings need {} different runs, which take {} of CPU time."
    assert written(make_pages, folder, "played") == [words.format(3, "a minute")]
    (folder / "study.csv").write_text(HEADER + shared.replace("bb", "aa").replace("cc", "aa"))
    assert written(make_pages, folder, "played") == [words.format(1, "less than a minute")]


@pytest.mark.parametrize(
    ("marker", "words"),
    [
        ("table: sped numbers", "part 'sped' has no figure 'numbers'"),
        ("table: speed none", "part 'speed' has no figure 'none'; it has numbers, finish"),
        ("table: speed: system, finish", "there is no column 'finish'"),
        ("table: speed: twice = 2 ** finish_us", "only columns, numbers"),
        ("table: broken: system, finish_us", "a point of part 'broken' is failed: it broke"),
        ("pivot: speed: scale, system", "expected PART: ROW, COLUMN, VALUE"),
        ("pivot: speed: scale, system, finish_us over torus", "'torus' is not one of flat, hier"),
        ("figure: speed numbers", "speed-numbers.png: is not there"),
    ],
)
def test_what_the_folder_has_not_is_an_error_and_the_page_stays(
    make_pages: ModuleType, folder: Path, capsys: pytest.CaptureFixture[str], marker: str, words: str
) -> None:
    page = folder.parent / "page.md"
    text = f"<!-- {marker} -->\nold\n<!-- end -->\n"
    page.write_text(text)
    assert make_pages.main([str(folder), str(page)]) == 1
    assert words in capsys.readouterr().err
    assert page.read_text() == text


def test_a_marker_without_its_end_is_an_error(
    make_pages: ModuleType, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = folder.parent / "page.md"
    page.write_text("<!-- table: speed numbers -->\n")
    assert make_pages.main([str(folder), str(page)]) == 1
    assert "its <!-- end --> is missing" in capsys.readouterr().err


def test_single_runs_get_a_table_of_their_own(tmp_path: Path) -> None:
    run = {
        "run_name": "dlrm-flat-full",
        "complete": False,
        "finish_ps": 4_540_000_000,
        "compute_ps": 3_790_000_000,
        "exposed_ps": 750_000_000,
        "statistics": {"messages": 30_324_044, "packets": 21_764_352},
        "system": {"preferred-dataset-splits": 1024},
        "timing": {"wall_seconds": 3048.0},
        "memory": {"peak_bytes": 1_975_000_000},
    }
    (tmp_path / "run.json").write_text(json.dumps(run))
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- runs -->\n<!-- end -->\nb\n")
    subprocess.run([sys.executable, SCRIPT.with_name("make_runs_table.py"), page, tmp_path], check=True)
    assert page.read_text().splitlines()[4:] == [
        "| flat, stopped | 1024 | 4.54 | 3.79 | 0.75 | 30.3 | 21.8 | 51 | 2.0 |",
        "<!-- end -->",
        "b",
    ]


def test_where_keeps_the_rows_with_a_value(make_pages: ModuleType, folder: Path) -> None:
    lines = written(make_pages, folder, "table: speed where system=hier: system, finish_us")
    assert lines == ["| system | finish_us |", "|---|---|", "| hier | 5 |"]
    lines = written(make_pages, folder, "pivot: speed where system=flat: scale, system, finish_us")
    assert lines == ["| scale | flat |", "|---|---|", "| 0.1 | 20 |"]
    page = folder.parent / "none.md"
    page.write_text("<!-- table: speed where system=none: system, finish_us -->\n<!-- end -->\n")
    assert make_pages.main([str(folder), str(page)]) == 1


def test_parts_of_the_same_axes_make_one_table(make_pages: ModuleType, folder: Path) -> None:
    study = folder / "study.yaml"
    study.write_text(
        study.read_text() + "  slow: {axes: {system: [torus], network.size: [0.1]}}\n  odd: {axes: {system: [a]}}\n"
    )
    table = folder / "study.csv"
    table.write_text(table.read_text() + "slow,torus,0.1,1,done,80.0,40.0,ff,\nodd,a,,1,done,1.0,1.0,gg,\n")
    assert written(make_pages, folder, "pivot: speed + slow where scale=0.1: system, scale, finish_us") == [
        "| system | 0.1 |",
        "|---|---|",
        "| flat | 20 |",
        "| hier | 5 |",
        "| torus | 80 |",
    ]
    assert written(make_pages, folder, "table: speed + slow: system, exposed_us")[-1] == "| torus | 40 |"
    page = folder.parent / "odd.md"
    page.write_text("<!-- table: speed + odd: system, finish_us -->\n<!-- end -->\n")
    assert make_pages.main([str(folder), str(page)]) == 1
