"""The reference that ``docs/reference_pages`` makes from the code, for the tests that read it."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module

from support.documents.pages import ROOT

Row = tuple[str, ...]


@cache
def reference() -> Mapping[str, str]:
    """Return the text of each page by its name, such as ``reference/tables``."""
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        makers: Mapping[str, Callable[[], str]] = import_module("reference_pages").PAGES
    finally:
        sys.path.remove(str(ROOT / "docs"))
    return {name: make() for name, make in makers.items()}


def sections(page: str) -> Mapping[str, str]:
    """Return the sections of a page by heading, without backquotes."""
    parts = re.split(r"^## (.+)$", reference()[page], flags=re.MULTILINE)
    return {heading.replace("`", ""): text for heading, text in zip(parts[1::2], parts[2::2], strict=True)}


def rows(text: str) -> list[Row]:
    """Return the cells of all rows of tables, headings left out; the first cell without backquotes."""
    lines = re.findall(r"^\| (`.*) \|$", text, re.MULTILINE)
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)] for line in lines]
    return [(first.strip("`"), *others) for first, *others in cells]
