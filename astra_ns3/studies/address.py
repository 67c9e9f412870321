"""What a point is called in the store: a digest of all that its results depend on.

That is the three files as they are in force, the options, the seed, the content of every file that users' code,
schedules and graphs stand in, the code that plays it, and the versions of what that stands on. Not: where files lie,
comments in them, what points and axes are called, limits, progress, output.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from astra_ns3.config.core.algorithm_names import FILE_PREFIX
from astra_ns3.errors import InputError
from astra_ns3.experiments.hooks import HookFile
from astra_ns3.experiments.option import options_of
from astra_ns3.experiments.request import RunRequest
from astra_ns3.experiments.versions import native_digest, versions
from astra_ns3.studies.documents import AnyConfig, document_of
from astra_ns3.studies.keys import FILES
from astra_ns3.user_code import user_part

_FORMAT = 1
"""Raised when the way changes in which addresses are made, so that old ones are never met."""
_LABELS = ("output", "overwrite", "limits", "live", "progress", "isolated", "run_name", "on_built")
_VERSIONS = ("astra-ns3", "ns3", "cppyy", "numpy")
_ROOMS_WITHOUT_EFFECT = frozenset(("cli", "report", "studies"))
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)
_PYTHON = ".py"


class Addresses:
    """Makes addresses; what points have in common is read once."""

    def __init__(self) -> None:
        """What this program is, is read at once."""
        self._program = {"format": _FORMAT, "code": code_digest(), "native": native_digest(), "versions": _versions()}
        self._configs: dict[int, tuple[AnyConfig, str]] = {}
        self._files: dict[str, str] = {}

    def of(self, request: RunRequest) -> str:
        """The address of a run whose files are read; raises InputError if a file of users' code is missing."""
        options = {
            one.name: self._stripped(getattr(request, one.name))
            for one in options_of(RunRequest)
            if one.name not in (*FILES, *_LABELS)
        }
        hook = request.on_built
        content = {
            **self._program,
            "files": {name: self._config(getattr(request, name)) for name in FILES},
            "options": options,
            "hook": self._stripped(hook.path) if isinstance(hook, HookFile) else None,
        }
        return _digest(content)

    def _config(self, config: AnyConfig) -> str:
        known = self._configs.get(id(config))
        if known is None:
            document = document_of(config)
            document.pop("source", None)
            known = self._configs[id(config)] = (config, _digest(self._stripped(document)))
        return known[1]

    def _stripped(self, value: Any, key: str = "") -> Any:
        """``value`` with the content of a file in the place of its path."""
        if isinstance(value, Mapping):
            graph = value.get("kind") == "file" and "path" in value
            return {
                name: self._content(each) if graph and name == "path" else self._stripped(each, name)
                for name, each in value.items()
            }
        if isinstance(value, (list, tuple)):
            return [self._stripped(each, key) for each in value]
        if not isinstance(value, str):
            return value
        part = user_part(value, compiled=True)
        if part is not None:
            return [self._content(part.file), part.name]
        if value.startswith(FILE_PREFIX):
            return [FILE_PREFIX, Path(value).suffix, self._content(value.removeprefix(FILE_PREFIX))]
        return [self._content(value), "on_built"] if value.endswith(_PYTHON) else value

    def _content(self, path: str) -> str:
        """Digest of a file and of those beside it that it takes in."""
        if path not in self._files:
            every = dict.fromkeys(_with_taken_in(Path(path), set()))
            self._files[path] = _digest([hashlib.sha256(each).hexdigest() for each in every])
        return self._files[path]


def _with_taken_in(path: Path, seen: set[Path]) -> Iterator[bytes]:
    """The content of a file, and of the local files that it includes or imports, each once."""
    resolved = path.resolve()
    if resolved in seen:
        return
    seen.add(resolved)
    try:
        content = resolved.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    yield content
    text = content.decode("utf-8", errors="replace")
    for name in _imported(text) if path.suffix == _PYTHON else _INCLUDE.findall(text):
        beside = resolved.parent / name
        if beside.is_file():
            yield from _with_taken_in(beside, seen)


def _imported(text: str) -> Iterator[str]:
    """Names of the files that Python's imports would mean, if they lie beside it."""
    with suppress(SyntaxError, ValueError):
        for node in ast.walk(ast.parse(text)):
            modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            modules += [alias.name for alias in node.names] if isinstance(node, (ast.Import, ast.ImportFrom)) else []
            yield from (f"{module.replace('.', '/')}{_PYTHON}" for module in modules if module)


@cache
def code_digest() -> str:
    """Of the Python code that plays runs: all rooms but those that only show or distribute."""
    package = Path(__file__).parents[1]
    files = sorted(path.relative_to(package) for path in package.rglob("*.py"))
    counted = [file for file in files if len(file.parts) > 1 and file.parts[0] not in _ROOMS_WITHOUT_EFFECT]
    counted += [file for file in files if len(file.parts) == 1]
    content = [[file.as_posix(), hashlib.sha256((package / file).read_bytes()).hexdigest()] for file in counted]
    return _digest(content)


def _versions() -> dict[str, str]:
    found = versions()
    return {name: found.get(name, "") for name in _VERSIONS}


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
