"""What a user asks is found in two clicks, and every picture stands in the gallery with the command that draws it."""

from __future__ import annotations

import re
from pathlib import Path

from support.documents.pages import ROOT, text_of

CLICKS = 2


def linked(page: Path) -> set[Path]:
    """The pages that a page has links to."""
    links = re.findall(r"(?<!!)\[[^]]*\]\(([^)#\s]+)", page.read_text(encoding="utf-8"))
    return {(page.parent / link).resolve() for link in links if "://" not in link}


def test_twenty_questions_are_answered_two_clicks_from_the_first_page() -> None:
    section = text_of("CONTRIBUTING.md").partition("### Twenty questions")[2]
    questions = re.findall(r"^\| (.+\?) \| (.+) \|$", section, re.MULTILINE)
    assert len(questions) == 20
    for question, way in questions:
        page = ROOT / "docs" / "index.md"
        clicks = re.findall(r"\[[^]]+\]\(([^)]+)\)", way)
        assert 1 <= len(clicks) <= CLICKS, question
        for click in clicks:
            assert (ROOT / click) in linked(page), f"{question} {page.name} has no link to {click}"
            page = ROOT / click


def test_every_picture_is_in_the_gallery_with_the_command_that_draws_it() -> None:
    page = text_of("docs/gallery.md")
    pictures = [*ROOT.glob("docs/images/*.png"), *ROOT.glob("docs/figures/*.svg")]
    assert [picture.name for picture in pictures if f"/{picture.name})" not in page] == []
    for section in page.split("\n## ")[1:]:
        assert re.search(r"`(astra-ns3 |docs/images/draw_|benchmarks/)", section), section.splitlines()[0]
        rows = [line for line in section.splitlines() if line.startswith("| ![")]
        assert [row for row in rows if "`" not in row] == []
