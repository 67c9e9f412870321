"""SimAI's and AICB's text format of a workload: ASTRA-sim 1.0's columns with groups of NPUs, read and written.

Source: aliyun/SimAI's workload reader and aliyun/aicb's generator. A file is one of theirs if its first line has one of
their keys (:mod:`astra_ns3.workload.files.simai_header`), or a collective names a group or is a BROADCAST. The policies
HYBRID_TRANSFORMER and HYBRID_TRANSFORMER_FWD_IN_BCKWD become the loops SIMAI_TRANSFORMER and
SIMAI_TRANSFORMER_FWD_IN_BCKWD; all others mean what they mean in ASTRA-sim.

A collective is ALLREDUCE, ALLTOALL, ALLGATHER, REDUCESCATTER or BROADCAST, alone or with ``_EP`` or ``_DP_EP`` behind
it. Bytes beside NONE are ignored, as there. ALLREDUCEALLTOALL is an ALLREDUCE.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from astra_ns3.config.core.collective_kind import TEXT_FORMAT_KINDS, CollectiveKind
from astra_ns3.config.core.reading import read_text
from astra_ns3.config.core.rows import Row, rows_of
from astra_ns3.config.workload import LARGEST_COMPUTE_NS, Layer, ParallelGroup, Pass, Workload
from astra_ns3.errors import InputError, Where, nearest, refuse, wrong
from astra_ns3.units import LARGEST_INTEGER, counted
from astra_ns3.workload.files.astra_sim import COLUMNS, read_layer
from astra_ns3.workload.files.astra_sim_header import check_layer_numbers, header_of, parse_header
from astra_ns3.workload.files.simai_header import (
    SIMAI_KEYS,
    format_simai_header,
    parse_simai_header,
    unknown_key,
    without_simai_keys,
)
from astra_ns3.workload.loops.loop_kinds import LOOPS, SIMAI_LOOPS

KINDS = (*TEXT_FORMAT_KINDS, CollectiveKind.BROADCAST)
SUFFIXES = {"": None, "_EP": ParallelGroup.EXPERT, "_DP_EP": ParallelGroup.EXPERT_DATA}
_NAMES = {kind.value: kind for kind in KINDS} | {"ALLREDUCEALLTOALL": CollectiveKind.ALL_REDUCE}
_WORDS = {name + suffix: (kind, group) for name, kind in _NAMES.items() for suffix, group in SUFFIXES.items()}
_MARKS = frozenset(_WORDS) - {kind.value for kind in TEXT_FORMAT_KINDS} - {"ALLREDUCEALLTOALL"}
_COLLECTIVES = (3, 6, 9)
_MOST_LINES = 4


def is_simai(rows: Sequence[Row]) -> bool:
    """Whether the rows of a text workload are SimAI's or AICB's, and not ASTRA-sim's."""
    if not rows:
        return False
    if not SIMAI_KEYS.keys().isdisjoint(rows[0].words[1:]):
        return True
    return any(len(row.words) > column and row.words[column] in _MARKS for row in rows[2:] for column in _COLLECTIVES)


def fits_simai(path: Path) -> bool:
    """Whether a file is text of SimAI's or AICB's; False if it can't be read."""
    try:
        return is_simai(rows_of(read_text(path), str(path)))
    except InputError:
        return False


def read_simai(path: str | os.PathLike[str]) -> Workload:
    """Read a workload file; raises InputError with file, line and what was expected."""
    return parse_simai(read_text(path), os.fspath(path))


def parse_simai(text: str, source: str = "workload") -> Workload:
    """The workload that ``text`` describes; ``source`` names it in messages. Raises InputError."""
    rows = rows_of(text, source)
    refuse(not rows, "is empty, expected a policy on its first line", source)
    loop, fields, keys = _header(rows[0])
    unknown: dict[str, list[int]] = {unknown_key(word): [rows[0].number] for word in keys}
    refuse(len(rows) < 2, "the number of rows is missing", Where(source, rows[0].number + 1))
    rows[1].refuse(len(rows[1].words) != 1, f"found {len(rows[1].words)} words, expected the number of rows alone")
    count = _whole(rows[1]).integer(0, "number of rows", 1, LARGEST_INTEGER)
    layers = rows[2:]
    rows[1].refuse(len(layers) != count, f"says {counted(count, 'row')}, found {len(layers)}")
    reader = _LayerReader(loop, unknown)
    read = tuple(reader.layer(_whole(row)) for row in layers)
    if unknown:
        raise _unknown_words(source, unknown)
    workload = Workload(loop, read, source=source, **fields)
    check_layer_numbers(rows[0], header_of(workload), count)
    return workload


def format_simai(workload: Workload) -> str:
    """The text of a workload of one of SimAI's loops; :func:`parse_simai` reads it back to an equal one."""
    suffixes = {group: suffix for suffix, group in SUFFIXES.items()}
    lines = [format_simai_header(workload), str(len(workload.layers))]
    for layer in workload.layers:
        columns = [layer.name, "-1"]
        for part in layer.passes.values():
            word = "NONE" if part.collective is None else part.collective.value + suffixes[part.group]
            columns += [str(part.compute_ns), word, str(part.bytes)]
        lines.append("\t".join([*columns, str(layer.update_ns)]))
    return "\n".join(lines) + "\n"


class _LayerReader:
    """Reads rows of a loop; puts what it doesn't know, and in which lines that is, in ``unknown``."""

    def __init__(self, loop: str, unknown: dict[str, list[int]]) -> None:
        self._unknown = unknown
        self._has_groups = loop in SIMAI_LOOPS
        self._loop = loop
        self._has_policy = loop not in SIMAI_LOOPS and LOOPS[loop].dimensions is None

    def layer(self, row: Row) -> Layer:
        return read_layer(row, self._pass, has_policy=self._has_policy)

    def _pass(self, row: Row, column: int) -> Pass:
        compute_ns = row.integer(column, COLUMNS[column], 0, LARGEST_COMPUTE_NS, "ns")
        bytes = row.integer(column + 2, COLUMNS[column + 2], 0, LARGEST_INTEGER)
        word = row.words[column + 1]
        if word == "NONE":
            return Pass(compute_ns)
        if word not in _WORDS:
            what = f"collective '{word}'{nearest(word, (*_WORDS, 'NONE'))}"
            self._unknown.setdefault(what, []).append(row.number)
            return Pass(compute_ns)
        kind, group = _WORDS[word]
        if group is not None and not self._has_groups:
            raise row.error(
                f"{COLUMNS[column + 1]} is '{word}', but {self._loop} has no groups of experts; expected one of "
                f"{', '.join(SIMAI_LOOPS.values())} on the first line"
            )
        return Pass(compute_ns, kind, bytes, group)


def _header(row: Row) -> tuple[str, dict[str, Any], list[str]]:  # fields of Workload by name
    """The loop, what else the first line says, and the words in it that aren't keys."""
    if row.words[0] in SIMAI_LOOPS.values():
        return parse_simai_header(row)
    plain, found, unknown = without_simai_keys(row)
    header = parse_header(plain)
    # What Workload takes by name.
    fields: dict[str, Any] = {"last_bottom_layer": header.last_bottom_layer}
    if found:
        fields["warnings"] = (
            f"{row.source}:{row.number}: without effect on {header.loop}, which has no groups of NPUs and no stages: "
            f"{', '.join(word.rstrip(':') for word in found)}",
        )
    return header.loop, fields, unknown


def _unknown_words(source: str, unknown: Mapping[str, Sequence[int]]) -> InputError:
    found = "; ".join(f"{what} (line {_listed(lines)})" for what, lines in unknown.items())
    collectives = f"{', '.join(kind.value for kind in KINDS)} (alone or with _EP or _DP_EP), NONE"
    keys = ", ".join(("model_parallel_NPU_group:", *SIMAI_KEYS, "checkpoints:", "checkpoint_initiates:"))
    return wrong(f"unknown words: {found}; expected keys: {keys}; collectives: {collectives}", source)


def _listed(lines: Sequence[int]) -> str:
    return ", ".join(map(str, lines[:_MOST_LINES])) + (", ..." if len(lines) > _MOST_LINES else "")


def _whole(row: Row) -> Row:
    """The row with numbers that end in ``.0`` as whole numbers."""
    words = (re.sub(r"^(-?[0-9]+)\.0*$", r"\1", word, flags=re.ASCII) for word in row.words)
    return Row(row.source, row.number, tuple(words))
