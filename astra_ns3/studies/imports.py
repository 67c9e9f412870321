"""Which files a Python file's imports mean, if they lie beside it: modules, packages, and the packages around them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def imported_files(text: str, folder: Path) -> list[Path]:
    """Where the modules would lie that a file in ``folder`` imports; most of them aren't there."""
    found: dict[Path, None] = {}
    with suppress(SyntaxError, ValueError, RecursionError):
        for node in ast.walk(ast.parse(text)):
            for start, module in _modules(node, folder):
                found.update(dict.fromkeys(_files(start, module)))
    return list(found)


def _modules(node: ast.AST, folder: Path) -> Iterator[tuple[Path, str]]:
    """The modules that a statement may load, dotted, each with the folder that it is looked up in."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield folder, alias.name
    elif isinstance(node, ast.ImportFrom):
        start = folder
        for _ in range(node.level - 1):
            start = start.parent
        if node.level:
            yield start, ""
        for name in ("", *(alias.name for alias in node.names if alias.name != "*")):
            dotted = ".".join(word for word in (node.module or "", name) if word)
            if dotted:
                yield start, dotted


def _files(folder: Path, module: str) -> Iterator[Path]:
    """A module's file, or its package's, and those of the packages around it."""
    if not module:
        yield folder / "__init__.py"
        return
    path = folder
    for word in module.split("."):
        path = path / word
        yield path / "__init__.py"
    yield path.with_name(f"{path.name}.py")
