"""The tutorial as a reader follows it: each page in an empty folder, its files, its commands, and what they print."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command import NEEDS_HEADERS
from support.documents.tutorial import PAGES, blocks_of, played, says
from support.lengths import some_slow

pytestmark = NEEDS_HEADERS
MOST_LINES = 120
"""But for the files that a page has its reader write."""


QUICK = [page for page in PAGES if page.stem[0] in "12457"]
"""Studies take longer."""


@pytest.mark.parametrize("page", some_slow(PAGES, QUICK), ids=lambda page: str(page.stem))
def test_a_page_does_and_prints_what_it_says(page: Path, tmp_path: Path) -> None:
    steps = list(played(page, tmp_path))
    assert steps
    for step in steps:
        shown = step.shown.text.splitlines() if step.shown else ["..."]
        assert says(shown, step.printed.splitlines()), f"{step.commands.text}\n{step.printed}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.stem))
def test_a_page_is_short_and_every_block_is_a_file_commands_or_what_they_print(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    before, files = "", 0
    for block in blocks_of(text):
        files += len(block.text.splitlines()) if block.file is not None else 0
        assert block.file is not None or block.kind == "sh" or (block.kind == "text" and before == "sh")
        before = block.kind
    assert len(text.splitlines()) - files <= MOST_LINES


@pytest.mark.parametrize(
    ("shown", "printed", "expected"),
    [
        (["a", "...", "c"], ["a", "b", "b", "c"], True),
        (["a", "..."], ["a"], True),
        (["a", "c"], ["a", "b", "c"], False),
        (["wall time  2 s (1 s)"], ["wall time  9 s"], True),
        (["a"], [], False),
        ([], ["a"], False),
    ],
)
def test_lines_shown_are_compared_but_for_what_varies(shown: list[str], printed: list[str], expected: bool) -> None:
    assert says(shown, printed) is expected
