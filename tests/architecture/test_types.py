"""How much of the package has no type: lines with ``Any``, ``object`` and what quietens mypy. Each has a reason."""

from __future__ import annotations

import ast
from collections import Counter

import pytest
from support.parsed import package_files, parsed

pytestmark = pytest.mark.xdist_group("sources")  # they share what was read
MOST_LINES_WITH_ANY = 142
"""Raise it for nothing: read plain data once into a type, as ``astra_ns3/network/run_document.py`` has run.json."""

MOST = {"object": 323, "cast": 5, "type: ignore": 7}
"""Names, and comments. Raise them for nothing: say what a value has to do, as ``Hashable`` does, or what it is."""


def names_of_no_type(source: str) -> Counter[str]:
    """Return how often code names each word of :data:`MOST`."""
    found = Counter(node.id for node in ast.walk(parsed(source)) if isinstance(node, ast.Name) and node.id in MOST)
    return found + Counter({"type: ignore": source.count("# type: ignore")})


def test_few_values_are_of_any_type() -> None:
    found = sum(map(names_of_no_type, package_files().values()), Counter())
    assert {name: found[name] for name in MOST if found[name] > MOST[name]} == {}


@pytest.mark.parametrize(
    ("source", "word", "times"),
    [
        ("def f(a: object, b: object) -> int: ...", "object", 2),
        ("x = cast(int, y)", "cast", 1),
        ("x = y  # type: ignore[index]", "type: ignore", 1),
        ('"""An object."""', "object", 0),
    ],
)
def test_a_value_of_any_type_is_seen(source: str, word: str, times: int) -> None:
    assert names_of_no_type(source)[word] == times


def lines_with_any(source: str) -> int:
    """Return how many lines of code name ``Any``, imports too."""
    return len(
        {
            node.lineno
            for node in ast.walk(parsed(source))
            if (isinstance(node, ast.Name) and node.id == "Any") or (isinstance(node, ast.alias) and node.name == "Any")
        }
    )


def test_few_lines_have_no_type() -> None:
    assert sum(map(lines_with_any, package_files().values())) <= MOST_LINES_WITH_ANY


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("from typing import Any", 1),
        ("def f(a: Any, b: Any) -> int: ...", 1),
        ("x: dict[str, Any]\ny: list[Any]", 2),
        ('"""Any number."""', 0),
    ],
)
def test_a_line_without_a_type_is_seen(source: str, lines: int) -> None:
    assert lines_with_any(source) == lines
