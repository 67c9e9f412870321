"""The files that a file of a user's takes in: what a Python file imports, and what a header includes."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from astra_ns3.errors import failing
from astra_ns3.user_code import is_installed

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*(?:include|include_next|import)[ \t]*["<]([^">\n]+)[">]', re.MULTILINE)


def files_taken_in(path: Path) -> dict[Path, bytes]:
    """Return the content of a file, and of those of users' that it includes or imports, each once.

    *Model limits*: modules count that lie beside the file, or in a folder where this process looks for modules; headers
    count that lie where a path names them, seen from the including file. Raises InputError if ``path`` can't be read.
    """
    return _with_taken_in(path, {})


def _with_taken_in(path: Path, seen: dict[Path, bytes]) -> dict[Path, bytes]:
    resolved = path.resolve()
    if resolved in seen:
        return seen
    with failing(OSError, "cannot be read", path):
        content = seen[resolved] = resolved.read_bytes()
    text = content.decode("utf-8", errors="replace")
    if path.suffix == ".py":
        found = _imported_files(text, resolved.parent)
    else:
        found = [resolved.parent / name for name in _INCLUDE.findall(text)]
    for each in found:
        if each.is_file():
            _with_taken_in(each, seen)
    return seen


def _imported_files(text: str, folder: Path) -> list[Path]:
    """The paths of the modules that a file in ``folder`` may import; most of them aren't there."""
    found: dict[Path, None] = {}
    with suppress(SyntaxError, ValueError, RecursionError):
        for node in ast.walk(ast.parse(text)):
            for start, module in _modules(node, folder):
                if module.partition(".")[0] != __package__:
                    found.update(dict.fromkeys(_files(start, module)))
    return list(found)


def _modules(node: ast.AST, folder: Path) -> Iterator[tuple[Path, str]]:
    """The modules that a statement may load, dotted, each with the folder that it is looked up in."""
    if isinstance(node, ast.Import):
        yield from ((start, alias.name) for start in _starts(folder) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        package = folder
        for _ in range(node.level - 1):
            package = package.parent
        for start in [package] if node.level else _starts(folder):
            if node.level:
                yield start, ""
            for name in ("", *(alias.name for alias in node.names if alias.name != "*")):
                dotted = ".".join(word for word in (node.module or "", name) if word)
                if dotted:
                    yield start, dotted


def _starts(folder: Path) -> list[Path]:
    """The folders in which a module of users' may be: that of the file, and those where this process looks."""
    return [folder, *(path for path in map(Path, sys.path) if not is_installed(path / "module.py"))]


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
