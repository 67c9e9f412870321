"""Completions of a word that was begun: names, files by their endings, folders with results."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from astra_ns3.config.core.plain import dotted_keys
from astra_ns3.config.core.yaml_document import parse_yaml
from astra_ns3.errors import InputError

Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]
Words = Iterable[str] | Callable[[], Iterable[str]]
PICTURES = (".png", ".svg", ".pdf")
"""Endings of pictures."""
_RUN_FILES = ("run.json",)
_COUNTED = re.compile(r"([0-9]*[xX*]|)(.*)", re.DOTALL)
# The options that name files, and what the keys of these begin with; ``file``: the model of a plan.
_FILES = {"-n": "network", "-s": "system", "-w": "workload", "file": "workload"}


def words(known: Words, *, endings: tuple[str, ...] | None = None) -> Complete:
    """Return what completes one of some words, or, with ``endings``, a file of these."""

    def complete(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
        names = known() if callable(known) else known
        found = [CompletionItem(name) for name in names if name.startswith(begun)]
        return found if endings is None or found else _paths(begun, endings)

    return complete


def listed(known: Iterable[str]) -> Complete:
    """Return what completes the last of several words with commas between them."""
    names = tuple(known)

    def complete(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
        before, comma, last = begun.rpartition(",")
        sign = last[:1] if last[:1] in ("+", "-") else ""
        return [CompletionItem(f"{before}{comma}{sign}{name}") for name in names if f"{sign}{name}".startswith(last)]

    return complete


def counted_words(known: Iterable[str]) -> Complete:
    """Return what completes one of some words, with or without a number and an x in front."""

    def complete(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
        count, word = _COUNTED.findall(begun)[0]
        return [CompletionItem(f"{count}{name}") for name in known if name.startswith(word)]

    return complete


def keys_of_files(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Keys that the files of a run have, as far as these were named before."""
    given = {each.opts[0]: context.params.get(each.name or "") for each in context.command.params}
    found = (key for option, name in _FILES.items() for key in _keys(name, given.get(option)))
    return [CompletionItem(key) for key in dict.fromkeys(found) if key.startswith(begun)]


def _keys(name: str, path: str | None) -> Iterator[str]:
    """Yield the keys of a file in YAML or JSON, with its name in front; none of a file that can't be read."""
    if not path or not path.endswith((".yaml", ".yml", ".json")):
        return
    try:
        data = parse_yaml(Path(path).read_text(encoding="utf-8"), path).data
    except (OSError, ValueError, InputError):
        return
    if isinstance(data, Mapping):
        yield from (f"{name}.{key}" for key in dotted_keys(data))


def files(*endings: str) -> Complete:
    """Return what completes the path of a file with one of the ``endings``; without any, of every file."""
    return lambda context, parameter, begun: _paths(begun, endings)


def folders(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """A folder, by the shell itself."""
    return [CompletionItem(begun, type="dir")]


def results(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """A folder that holds a run, or folders on the way to one."""
    found = [path for path in _entries(begun) if path.is_dir()]
    runs = [path for path in found if any((path / name).is_file() for name in _RUN_FILES)]
    if len(found) == 1 and not runs:
        return results(context, parameter, f"{found[0]}{os.sep}") or [CompletionItem(f"{found[0]}{os.sep}")]
    return [CompletionItem(str(path) if path in runs else f"{path}{os.sep}") for path in found]


def _paths(begun: str, endings: tuple[str, ...]) -> list[CompletionItem]:
    """Files and folders; one folder alone is gone into, for the shell puts a blank behind a whole word."""
    found = [path for path in _entries(begun) if path.is_dir() or not endings or path.name.endswith(endings)]
    if len(found) == 1 and found[0].is_dir():
        folder = f"{found[0]}{os.sep}"
        return _paths(folder, endings) or [CompletionItem(folder)]
    return [CompletionItem(f"{path}{os.sep}" if path.is_dir() else str(path)) for path in found]


def _entries(begun: str) -> list[Path]:
    """Return the entries of a folder that begin with the last part of ``begun``.

    Hidden entries are among them only if that part begins with a dot.
    """
    folder, name = os.path.split(begun)
    try:
        names = sorted(os.listdir(folder or "."))  # noqa: PTH208, as a path keeps the form that was begun
    except OSError:
        return []
    fitting = [each for each in names if each.startswith(name) and (name.startswith(".") or not each.startswith("."))]
    return [Path(os.path.join(folder, each)) for each in fitting]  # noqa: PTH118
