"""The sources of the package, and their syntax trees, read once for all tests of a process."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "astra_ns3"


@cache
def parsed(source: str) -> ast.Module:
    """The syntax tree of a source; nobody changes it."""
    return ast.parse(source)


@cache
def package_files() -> Mapping[str, str]:
    """Path below the package -> text of the file."""
    return {str(file.relative_to(PACKAGE)): file.read_text(encoding="utf-8") for file in sorted(PACKAGE.rglob("*.py"))}


@cache
def package_sources() -> Mapping[str, str]:
    """Module name -> source text, for every module of the package."""
    sources = {}
    for name, source in package_files().items():
        parts = (PACKAGE.name, *Path(name).with_suffix("").parts)
        sources[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = source
    return sources
