"""Errors of input are made by the functions of errors.py, nowhere by hand."""

from __future__ import annotations

import ast

import pytest
from support.parsed import package_sources, parsed

pytestmark = pytest.mark.xdist_group("sources")  # they share what was read

HOME = "astra_ns3.errors"


def made_by_hand(source: str) -> list[int]:
    """Return the lines that make or raise a bare InputError."""
    return [
        node.lineno
        for node in ast.walk(parsed(source))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "InputError"
    ]


def test_no_module_but_errors_makes_an_error_of_input_by_hand() -> None:
    found = {module: made_by_hand(source) for module, source in package_sources().items() if module != HOME}
    assert {module: lines for module, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ('raise InputError("a")', [1]),
        ('def f():\n    return InputError("a")', [2]),
        ('raise wrong("a", where)', []),
        ("except_ = InputError", []),
    ],
)
def test_bare_errors_are_found(source: str, lines: list[int]) -> None:
    assert made_by_hand(source) == lines
