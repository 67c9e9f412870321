"""Which files a Chakra workload is: ``PREFIX.<rank>.et`` as ASTRA-sim takes it, a folder of those, or one file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from astra_ns3.errors import failing, refuse, wrong

_RANK_FILE = re.compile(r"(?P<prefix>.*)\.(?P<rank>0|[1-9][0-9]{0,8})\.(?P<suffix>et|json)", re.DOTALL)
SUFFIXES = ("et", "json")


class RankFiles(NamedTuple):
    """The file of each rank, from rank 0 on; ``alone``: one file, given by its own name."""

    paths: tuple[str, ...]
    alone: bool = False
    siblings: int = 0
    """For a file alone: how many files of other ranks stand beside it."""


def are_rank_files(path: str | os.PathLike[str]) -> bool:
    """Whether ``path`` is a folder, which no other workload is, or the prefix of rank files."""
    start = Path(path)
    return start.is_dir() or (not start.exists() and bool(_with_prefix(start)))


def find_rank_files(path: str | os.PathLike[str]) -> RankFiles:
    """The files of a workload; raises InputError if there are none, if ranks are missing, or if there are two sets."""
    start = Path(path)
    if start.is_dir():
        return RankFiles(_of_folder(start))
    if start.exists():
        parts = _RANK_FILE.fullmatch(start.name)
        siblings = len(_entries(start.parent, Path(parts["prefix"]).name, parts["suffix"])) - 1 if parts else 0
        return RankFiles((os.fspath(start),), alone=True, siblings=siblings)
    found = _with_prefix(start)
    refuse(
        not found,
        f"no such file or folder, and no {start.name}.0.et, {start.name}.1.et, ...: files of ranks "
        "are named PREFIX.<rank>.et",
        start,
    )
    return RankFiles(_in_order(start, found))


def rank_files(prefix: str | os.PathLike[str], suffix: str) -> dict[int, str]:
    """The files ``PREFIX.<rank>.SUFFIX`` that there are, by rank."""
    start = Path(prefix)
    return dict(sorted(_entries(start.parent, start.name, suffix).items())) if start.parent.is_dir() else {}


def rank_of(path: str | os.PathLike[str]) -> int | None:
    """The rank in a file's name; None if it has none."""
    parts = _RANK_FILE.fullmatch(Path(path).name)
    return int(parts["rank"]) if parts else None


def _of_folder(folder: Path) -> tuple[str, ...]:
    sets: dict[tuple[str, str], dict[int, str]] = {}
    for name in _names(folder):
        if parts := _RANK_FILE.fullmatch(name):
            key = (parts["prefix"], parts["suffix"])
            sets.setdefault(key, {})[int(parts["rank"])] = os.fspath(folder / name)
    binary = {key: files for key, files in sets.items() if key[1] == "et"} or sets
    refuse(not binary, "is a folder without files named PREFIX.<rank>.et, as Chakra's traces are", folder)
    if len(binary) > 1:
        prefixes = sorted(str(folder / prefix) for prefix, _ in binary)
        raise wrong(f"has traces of {len(prefixes)} workloads; name one: {', '.join(prefixes[:5])}", folder)
    ((prefix, _), files) = next(iter(binary.items()))
    return _in_order(folder / prefix, files)


def _with_prefix(prefix: Path) -> dict[int, str]:
    """The files of a prefix, which may itself end in ``.et``; binary ones before JSON."""
    if not prefix.name or not prefix.parent.is_dir():
        return {}
    for name in (prefix.name, prefix.name.removesuffix(".et")):
        for suffix in SUFFIXES:
            if found := _entries(prefix.parent, name, suffix):
                return found
    return {}


def _entries(folder: Path, prefix: str, suffix: str) -> dict[int, str]:
    found = {}
    for entry in _names(folder):
        parts = _RANK_FILE.fullmatch(entry)
        if parts and parts["prefix"] == prefix and parts["suffix"] == suffix:
            found[int(parts["rank"])] = os.fspath(folder / entry)
    return found


def _names(folder: Path) -> Iterable[str]:
    with failing(OSError, "cannot be read", folder):
        return os.listdir(folder)  # noqa: PTH208 - names alone, of folders with thousands of files


def _in_order(prefix: Path, files: dict[int, str]) -> tuple[str, ...]:
    ranks = sorted(files)
    if ranks != list(range(len(ranks))):
        missing = next(rank for rank in range(len(ranks)) if rank not in files)
        suffix = files[ranks[0]].rsplit(".", 1)[1]
        raise wrong(
            f"{prefix}.{missing}.{suffix}: no such file, but there is one of rank {ranks[-1]}; ranks count from 0"
        )
    return tuple(files[rank] for rank in ranks)
