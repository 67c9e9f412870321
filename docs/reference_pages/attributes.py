"""Docstrings behind the attributes of a class, which Python drops: read from the source."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Mapping
from functools import cache


@cache
def words_of(owner: type) -> Mapping[str, str]:
    """Return what the docstrings behind annotated attributes of a class and of its bases say, by the attribute."""
    found: dict[str, str] = {}
    for each in reversed(_bases(owner)):
        (node,) = ast.parse(textwrap.dedent(inspect.getsource(each))).body
        assert isinstance(node, ast.ClassDef)
        for statement, following in zip(node.body, node.body[1:], strict=False):
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                words = _docstring(following)
                if words:
                    found[statement.target.id] = words
    return found


def _bases(owner: type) -> list[type]:
    """Return the class and its bases in this program; of a TypedDict, which forgets them, the original ones."""
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(owner))).body
    assert isinstance(node, ast.ClassDef)
    names = [base.id for base in node.bases if isinstance(base, ast.Name)]
    written = [vars(inspect.getmodule(owner)).get(name) for name in names]
    known = [base for base in written if isinstance(base, type) and base.__module__.startswith("astra_ns3")]
    return [owner, *(base for each in known for base in _bases(each))]


def _docstring(node: ast.stmt) -> str:
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    return inspect.cleandoc(node.value.value) if is_text else ""
