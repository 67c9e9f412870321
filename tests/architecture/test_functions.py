"""How long functions are: a task that has a name of its own has a function of its own."""

from __future__ import annotations

import ast

import pytest
from support.parsed import package_files, parsed

pytestmark = pytest.mark.xdist_group("sources")  # they share what was read
MOST_LINES = 49


def longer(source: str) -> list[str]:
    """Return the names of functions with more lines than there may be."""
    functions = (node for node in ast.walk(parsed(source)) if isinstance(node, ast.FunctionDef))
    return [each.name for each in functions if (each.end_lineno or 0) - each.lineno >= MOST_LINES]


def test_functions_are_short() -> None:
    """Move a whole task out of one that is too long."""
    assert [f"{name}: {function}" for name, source in package_files().items() for function in longer(source)] == []


@pytest.mark.parametrize(("lines", "found"), [(MOST_LINES, []), (MOST_LINES + 1, ["f"])])
def test_a_long_function_is_seen(lines: int, found: list[str]) -> None:
    assert longer("def f() -> None:" + "\n    pass" * (lines - 1)) == found
