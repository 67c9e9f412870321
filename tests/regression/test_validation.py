"""The file of comparisons is what its rows say, and the page what the file says; the quick rows are found again."""

from __future__ import annotations

from pathlib import Path

import pytest
from validation.comparison import root
from validation.page import BEGIN, END, FILE, GROUPS, PAGE, ROWS, cells, read, tables

QUICK = [row.key for row in ROWS.values() if row.fast]


def test_the_file_has_every_row_once_and_in_order() -> None:
    assert list(read()) == [row.key for group in GROUPS for row in group.rows]
    assert len(ROWS) == sum(len(group.rows) for group in GROUPS)


def test_the_page_has_a_link_to_the_file_its_summary_and_every_row_with_a_large_error() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert f"(tables/{FILE.name})" in text
    assert text.partition(BEGIN)[2].partition(END)[0] == tables(read())


@pytest.mark.parametrize("key", ROWS)
def test_what_a_row_is_compared_with_stands_in_the_file(key: str) -> None:
    found, row = read()[key], ROWS[key]
    assert found == cells(row, (found["Ours"], found["Error"]))
    assert not row.test or (root() / row.test).is_file()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("key", QUICK)
def test_a_quick_row_is_found_again(key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert cells(ROWS[key], ROWS[key].find()) == read()[key]
