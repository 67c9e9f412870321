"""The first line of a workload file: the training loop and its options.

``HYBRID_DLRM 4`` (last bottom layer; also ``HYBRID_DLRM_4``, and SimAI's ``HYBRID_DLRM DLRM_LAST_BOTTOM_LAYER: 4``),
``HYBRID_TRANSFORMER model_parallel_NPU_group: 4``, ``HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 4
checkpoints: 2 2 11 checkpoint_initiates: 2 19 10`` (how many layers, then their numbers from 0). The other loops have
no options, nor has one of the user's, ``FILE.py:name``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from astra_ns3.config.core.rows import Row
from astra_ns3.config.workload import Workload
from astra_ns3.errors import nearest
from astra_ns3.frozen import dataclass
from astra_ns3.units import LARGEST_INTEGER, counted
from astra_ns3.user_code import FORM, user_part
from astra_ns3.workload.loops.loop_kinds import LOOPS, TEXT_LOOPS, LoopOption

_KEYS: Mapping[LoopOption, str] = {
    LoopOption.MODEL_PARALLEL_NPUS: "model_parallel_NPU_group:",
    LoopOption.CHECKPOINTS: "checkpoints:",
    LoopOption.CHECKPOINT_INITIATES: "checkpoint_initiates:",
}
_GROUP, _CHECKPOINTS, _INITIATES = _KEYS.values()
SIMAI_BOTTOM = "DLRM_LAST_BOTTOM_LAYER:"
"""The word that SimAI's files put before the number of the last bottom layer."""


@dataclass(frozen=True)
class Header:
    """See the fields of the same names of :class:`~astra_ns3.config.workload.Workload`."""

    loop: str
    last_bottom_layer: int | None = None
    model_parallel_npus: int | None = None
    checkpoints: tuple[int, ...] = ()
    checkpoint_initiates: tuple[int, ...] = ()


def parse_header(row: Row) -> Header:
    """The first line of a file; raises InputError with what was expected."""
    joined = re.fullmatch(r"(\w+)_([0-9]+)", row.words[0], re.ASCII)
    if joined and LoopOption.LAST_BOTTOM_LAYER in _options(joined[1]):
        row = Row(row.source, row.number, (joined[1], joined[2], *row.words[1:]))
    loop = row.words[0]
    if loop not in TEXT_LOOPS and user_part(loop) is None:
        allowed = f"{', '.join(TEXT_LOOPS)}, {FORM}{nearest(loop, TEXT_LOOPS)}"
        raise row.error(f"training loop '{loop}' is not one of {allowed}")
    if LoopOption.LAST_BOTTOM_LAYER in _options(loop):
        if len(row.words) == 3 and row.words[1] == SIMAI_BOTTOM:
            row = Row(row.source, row.number, (loop, row.words[2]))
        if len(row.words) != 2:
            found = len(row.words) - 1
            raise row.error(f"found {found} words after {loop}, expected one: the number of the last bottom layer")
        return Header(loop, last_bottom_layer=row.integer(1, "last bottom layer", 0, LARGEST_INTEGER))
    if _options(loop):
        return _keyed_header(row)
    if len(row.words) > 1:
        raise row.error(f"found '{row.words[1]}' after {loop}, expected nothing")
    return Header(loop)


def check_layer_numbers(row: Row, header: Header, layers: int) -> None:
    """Raise InputError if the header names a layer that a file of so many layers doesn't have, or can't do."""
    last = header.last_bottom_layer
    if last is not None and last > layers - 2:
        raise row.error(
            f"last bottom layer is {last}, expected at most {layers - 2}: "
            f"of {layers} layers (numbered from 0) at least one belongs to the top MLP"
        )
    for key, ids in ((_CHECKPOINTS, header.checkpoints), (_INITIATES, header.checkpoint_initiates)):
        if ids and max(ids) >= layers:
            raise row.error(f"'{key}' names layer {max(ids)}, expected at most {layers - 1} (numbered from 0)")
    lowest = min(header.checkpoint_initiates, default=layers)
    row.refuse(
        lowest < min(header.checkpoints, default=layers),
        f"'{_INITIATES}' names layer {lowest}, but no checkpoint is at or below it",
    )


def header_of(workload: Workload) -> Header:
    """The first line of a workload, as values."""
    return Header(
        workload.loop,
        workload.last_bottom_layer,
        workload.model_parallel_npus,
        workload.checkpoints,
        workload.checkpoint_initiates,
    )


def format_header(workload: Workload) -> str:
    """The first line of a workload's file."""
    words = [workload.loop]
    if workload.last_bottom_layer is not None:
        words.append(str(workload.last_bottom_layer))
    if workload.model_parallel_npus is not None:
        words += [_GROUP, str(workload.model_parallel_npus)]
    if LoopOption.CHECKPOINTS in _options(workload.loop):
        for key, ids in ((_CHECKPOINTS, workload.checkpoints), (_INITIATES, workload.checkpoint_initiates)):
            words += [key, str(len(ids)), *map(str, ids)]
    return " ".join(words)


def _options(loop: str) -> tuple[LoopOption, ...]:
    return LOOPS[loop].options if loop in LOOPS else ()


def _keyed_header(row: Row) -> Header:
    """Options of the form ``key: number``, or ``key: count numbers``, each once, in any order."""
    loop = row.words[0]
    keys = tuple(_KEYS[option] for option in _options(loop))
    values: dict[str, tuple[int, ...]] = {}
    column = 1
    while column < len(row.words):
        key = row.words[column]
        if key not in keys:
            hint = (
                f"; did you mean '{_GROUP} {key}'?" if key.isdecimal() and _GROUP not in values else nearest(key, keys)
            )
            raise row.error(f"found '{key}' after {loop}, expected {', '.join(keys)}{hint}")
        row.refuse(key in values, f"'{key}' is given twice")
        row.refuse(column + 1 == len(row.words), f"the number after '{key}' is missing")
        if key == _GROUP:
            values[key] = (row.integer(column + 1, _GROUP[:-1], 1, LARGEST_INTEGER),)
            column += 2
        else:
            values[key] = _layer_numbers(row, column)
            column += 2 + len(values[key])
    for key in keys:
        row.refuse(key not in values, f"{loop} needs '{key}', which is missing")
    return Header(loop, None, values[_GROUP][0], values.get(_CHECKPOINTS, ()), values.get(_INITIATES, ()))


def _layer_numbers(row: Row, key_column: int) -> tuple[int, ...]:
    """The numbers of layers behind the key in ``key_column`` and their count."""
    key, first = row.words[key_column], key_column + 2
    count = row.integer(key_column + 1, f"how many {key[:-1]}", 0, LARGEST_INTEGER)
    row.refuse(
        first + count > len(row.words),
        f"'{key} {count}' is followed by {counted(len(row.words) - first, 'word')}, expected {count} numbers",
    )
    ids = tuple(row.integer(column, key[:-1], 0, LARGEST_INTEGER) for column in range(first, first + count))
    row.refuse(len(set(ids)) < count, f"'{key}' names a layer twice")
    return ids
