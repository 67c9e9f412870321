"""Pages and docstrings are written in short sentences that begin with their subject; what is left may only shrink."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.documents.pages import ROOT
from support.documents.plain_english import MOST_WORDS, complaints, docstrings, found_in, modules, pages

LEFT = Path(__file__).with_name("plain_english_left.txt")
"""Files with sentences left to mend, and how many: ``python -m support.documents.plain_english --counts``."""


def left() -> dict[str, int]:
    """How many sentences each file may still have."""
    lines = LEFT.read_text(encoding="utf-8").splitlines()
    return {name: int(count) for count, name in (line.split(" ", 1) for line in lines)}


def test_no_file_has_more_long_or_hiding_sentences_than_are_left() -> None:
    allowed = left()
    found = {str(path.relative_to(ROOT)): found_in(path) for path in (*pages(), *modules())}
    more = {name: found[name] for name in found if len(found[name]) > allowed.get(name, 0)}
    assert more == {}, "split these, or begin with the subject"


def test_the_list_of_files_left_names_files_that_are_there() -> None:
    assert [name for name, count in left().items() if count < 1 or not (ROOT / name).is_file()] == []


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Of two rates the lower one counts.", 1),
        ("The lower rate counts. What is left is free.", 1),
        ("What is left?", 0),
        ("Such files are refused, and those are not.", 1),
        ("Offers are refused.", 0),
        (f"A sentence of {'many ' * (MOST_WORDS - 4)}words.", 0),
        (f"A sentence of {'too many ' * (MOST_WORDS // 2 - 1)}words.", 1),
        ("| Of a table | cells are no sentences |", 0),
        ("```text\nOf a block.\n```", 0),
        ("* An item\n* These are two.", 1),
        ("A line that goes\non. Those\nthere.", 1),
    ],
)
def test_a_sentence_is_found(text: str, count: int) -> None:
    assert len(list(complaints(text))) == count


def test_docstrings_are_those_of_modules_classes_functions_and_attributes() -> None:
    source = '"""One."""\n\nclass Two:\n    """Two."""\n    a: int = 1\n    """Three."""\n\ndef f():\n    """Four."""\n'
    assert sorted(docstrings(source)) == ["Four.", "One.", "Three.", "Two."]
