"""From a table of words, read from a user's CSV or JSON, to a Schedule; every error names its place in the file."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from astra_ns3.collectives.columns import MOST_MESSAGES
from astra_ns3.collectives.schedule import Content, Int32Column, Schedule
from astra_ns3.config.core.collective_kind import CollectiveKind, parse_kind
from astra_ns3.errors import InputError, check_known, located, refuse, wrong
from astra_ns3.frozen import dataclass
from astra_ns3.units import counted

REQUIRED_KEYS = ("collective", "ranks", "blocks")
_KEYS = (*REQUIRED_KEYS, "expansion", "name")
_REQUIRED = ("sender", "receiver", "step", "first_block")
#: The columns of a Schedule, in the order in which they are written.
COLUMNS = (*_REQUIRED, "block_count", "reduces", "wait_step", "wait_count")
_ALL_COLUMNS = (*COLUMNS, "content", "contributors")
_DEFAULTS = {"block_count": "1", "reduces": "0", "wait_step": "-1"}
_LARGEST = 2**31 - 1
# A rank costs memory in every backend, so a mistyped number must not fill it.
_LARGEST_RANKS = 1 << 20
_WORDS = {"true": "1", "false": "0", "": "0"}


@dataclass(frozen=True)
class Table:
    """A table of a user's file. ``keys``: where each stands, and its value; ``columns``: lists of cells, equally long.

    ``where(row)``: where a row stands.
    """

    source: str
    keys: Mapping[str, tuple[str, str]]
    columns: Mapping[str, list[str]]
    where: Callable[[int], str]


def table_schedule(table: Table) -> tuple[Schedule, CollectiveKind]:
    """The schedule that a table describes, its cells within range; not proved yet."""
    _check_names(table)
    where, word = table.keys["collective"]
    with located(where):
        kind = parse_kind(word)
    ranks, blocks = _key(table, "ranks", _LARGEST_RANKS), _key(table, "blocks", _LARGEST)
    if "expansion" in table.keys:
        expansion = _key(table, "expansion", _LARGEST_RANKS)
    else:
        expansion = ranks if kind is CollectiveKind.ALL_GATHER else 1
    columns = {name: _column(table, name) for name in COLUMNS if name in table.columns or name in _DEFAULTS}
    columns["wait_count"] = _wait_count(table, columns)
    _check_rows(table, columns, ranks, blocks)
    schedule = Schedule(
        name=table.keys["name"][1] if "name" in table.keys else table.source,
        ranks=ranks,
        blocks=blocks,
        sender=columns["sender"],
        receiver=columns["receiver"],
        step=columns["step"],
        first_block=columns["first_block"],
        block_count=columns["block_count"],
        reduces=columns["reduces"].astype(np.bool_),
        wait_step=columns["wait_step"],
        wait_count=columns["wait_count"],
        expansion=expansion,
        content=_content(table, ranks, columns["block_count"]),
    )
    return schedule, kind


def _check_names(table: Table) -> None:
    for found, allowed, what in ((table.keys, _KEYS, "key"), (table.columns, _ALL_COLUMNS, "column")):
        for name in found:
            check_known(what, name, allowed, table.source)
    for found, needed, what in ((table.keys, REQUIRED_KEYS, "key"), (table.columns, _REQUIRED, "column")):
        missing = [name for name in needed if name not in found]
        if missing:
            raise wrong(f"{what} '{missing[0]}' is missing", table.source)
    refuse(
        "contributors" in table.columns and "content" not in table.columns,
        "column 'contributors' says nothing without column 'content'",
        table.source,
    )
    refuse(
        len(table.columns["sender"]) > MOST_MESSAGES,
        f"{len(table.columns['sender'])} messages, more than {MOST_MESSAGES}",
        table.source,
    )


def _key(table: Table, key: str, largest: int) -> int:
    where, word = table.keys[key]
    return _integer(word, 1, largest, f"{where}: {key}")


def _column(table: Table, name: str) -> Int32Column:
    rows = len(table.columns["sender"])
    words = table.columns.get(name)
    if words is None:
        return np.full(rows, int(_DEFAULTS[name]), dtype=np.int32)
    least, largest = (-1 if name == "wait_step" else 0), (1 if name == "reduces" else _LARGEST)
    if name == "reduces":
        words = [_WORDS.get(word.lower(), word) for word in words]
    cells = [_whole(word, least, largest) for word in words]
    if None in cells:
        row = cells.index(None)
        raise _not_whole(words[row], least, largest, f"{table.where(row)}: {name}")
    return np.array(cells, dtype=np.int32)


def _wait_count(table: Table, columns: Mapping[str, Int32Column]) -> Int32Column:
    if "wait_count" in columns:
        return columns["wait_count"]
    return (columns["wait_step"] >= 0).astype(np.int32)


def _check_rows(table: Table, columns: Mapping[str, Int32Column], ranks: int, blocks: int) -> None:
    """Raise an error for the first row with a number out of range."""
    for name in ("sender", "receiver"):
        for row in np.flatnonzero(columns[name] >= ranks)[:1].tolist():
            raise wrong(f"{name} is {columns[name][row]}, expected 0 to {ranks - 1}", table.where(row))
    for row in np.flatnonzero(columns["sender"] == columns["receiver"])[:1].tolist():
        raise wrong(f"rank {columns['sender'][row]} sends to itself", table.where(row))
    ends = columns["first_block"].astype(np.int64) + columns["block_count"]
    for row in np.flatnonzero(ends > blocks)[:1].tolist():
        raise wrong(f"the last block is {ends[row] - 1}, expected at most {blocks - 1}", table.where(row))


def _content(table: Table, ranks: int, block_count: Int32Column) -> Content | None:
    if "content" not in table.columns:
        return None
    blocks: list[int] = []
    contributors: list[int] = []
    for row, word in enumerate(table.columns["content"]):
        where = f"{table.where(row)}: content"
        items = [_integer(item, 0, _LARGEST, where) for item in word.split()]
        if len(items) != block_count[row]:
            raise wrong(f"found {counted(len(items), 'block')}, expected {block_count[row]} as in block_count", where)
        blocks += items
        if "contributors" in table.columns:
            contributors += _contributors(table, row, ranks, len(items))
    offsets = np.concatenate([[0], np.cumsum(block_count, dtype=np.int64)])
    given = tuple(contributors) if "contributors" in table.columns else None
    return Content(offsets, np.array(blocks, dtype=np.int32), given)


def _contributors(table: Table, row: int, ranks: int, expected: int) -> list[int]:
    where = f"{table.where(row)}: contributors"
    words = table.columns["contributors"][row].split()
    if len(words) != expected:
        raise wrong(f"found {len(words)}, expected {expected} as in content", where)
    return [sum({1 << _integer(rank, 0, ranks - 1, where) for rank in word.split("+")}) for word in words]


def _integer(word: str, least: int, largest: int, where: str) -> int:
    value = _whole(word, least, largest)
    if value is None:
        raise _not_whole(word, least, largest, where)
    return value


def _whole(word: str, least: int, largest: int) -> int | None:
    """The number that ``word`` is, None if it is none or out of range."""
    try:
        value = int(word) if len(word) <= len(str(_LARGEST)) + 1 else None
    except ValueError:
        return None
    return value if value is not None and least <= value <= largest else None


def _not_whole(word: str, least: int, largest: int, where: str) -> InputError:
    return wrong(f"found '{word}', expected a whole number from {least} to {largest}", where)
