"""The validation page is what its rows say; the quick ones are found again."""

from __future__ import annotations

from pathlib import Path

import pytest
from validation.comparison import root
from validation.page import GROUPS, PAGE, ROWS, line, shown

QUICK = [row.key for row in ROWS.values() if row.fast]


def rows_of_the_page() -> dict[str, str]:
    return shown(PAGE.read_text(encoding="utf-8"))


def test_the_page_has_every_row_once_and_in_order() -> None:
    assert list(rows_of_the_page()) == [row.key for group in GROUPS for row in group.rows]
    assert len(ROWS) == sum(len(group.rows) for group in GROUPS)


@pytest.mark.parametrize("key", ROWS)
def test_what_a_row_is_compared_with_stands_in_the_page(key: str) -> None:
    cells = [cell.strip() for cell in rows_of_the_page()[key].split("|")]
    row = ROWS[key]
    assert cells[2:5] == [row.what, row.source, row.theirs]
    assert not row.test or (root() / row.test).is_file()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("key", QUICK)
def test_a_quick_row_is_found_again(key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert line(ROWS[key], ROWS[key].find()) == rows_of_the_page()[key]
