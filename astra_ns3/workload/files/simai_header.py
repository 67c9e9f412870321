"""The first line of SimAI's and AICB's workload files: a policy, then keys with a number each, in any order.

``model_parallel_NPU_group:`` (NPUs of a tensor-parallel group), ``ep:``, ``pp:``, ``vpp:``, ``ga:`` (micro-batches of
an iteration), ``all_gpus:``, ``pp_comm`` with or without its colon (bytes from stage to stage), and ASTRA-sim's lists
``checkpoints:`` and ``checkpoint_initiates:``. AICB writes some numbers with a fraction; SimAI reads up to the point.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from astra_ns3.config.core.rows import Row
from astra_ns3.config.workload import Workload
from astra_ns3.errors import nearest
from astra_ns3.units import LARGEST_INTEGER, counted
from astra_ns3.workload.files.astra_sim_header import SIMAI_BOTTOM
from astra_ns3.workload.loops.loop_kinds import LOOPS, SIMAI_LOOPS, LoopOption

SIMAI_KEYS: Mapping[str, LoopOption] = {
    "ep:": LoopOption.EXPERT_PARALLEL_NPUS,
    "pp:": LoopOption.PIPELINE_STAGES,
    "vpp:": LoopOption.VIRTUAL_STAGES,
    "ga:": LoopOption.MICRO_BATCHES,
    "all_gpus:": LoopOption.NPUS,
    "pp_comm:": LoopOption.STAGE_BYTES,
    "pp_comm": LoopOption.STAGE_BYTES,
}
"""Keys that ASTRA-sim's files don't have."""
KEYS: Mapping[str, LoopOption] = {
    "model_parallel_NPU_group:": LoopOption.MODEL_PARALLEL_NPUS,
    **SIMAI_KEYS,
    "checkpoints:": LoopOption.CHECKPOINTS,
    "checkpoint_initiates:": LoopOption.CHECKPOINT_INITIATES,
}
LISTS = (LoopOption.CHECKPOINTS, LoopOption.CHECKPOINT_INITIATES)


def parse_simai_header(row: Row) -> tuple[str, dict[str, Any], list[str]]:  # each field has its type
    """The loop, the fields of a :class:`~astra_ns3.config.workload.Workload`, and the words that aren't keys.

    Raises InputError with what was expected. The row's first word is one of :data:`SIMAI_LOOPS`' values.
    """
    loop = next(ours for ours, theirs in SIMAI_LOOPS.items() if theirs == row.words[0])
    options = LOOPS[loop].options
    fields: dict[str, Any] = {}  # what Workload takes by name
    unknown: list[str] = []
    column = 1
    while column < len(row.words):
        word = row.words[column]
        option = KEYS.get(word)
        if option is None or option not in options:
            unknown.append(word)
            column += 1 + (column + 1 < len(row.words) and _is_number(row.words[column + 1]))
            continue
        row.refuse(option.value in fields, f"'{word}' is given twice")
        row.refuse(column + 1 == len(row.words), f"the number after '{word}' is missing")
        if option in LISTS:
            fields[option.value] = _list(row, column)
            column += 1 + len(fields[option.value])
        else:
            smallest = 0 if option is LoopOption.STAGE_BYTES else 1
            fields[option.value] = _number(row, column + 1, word, smallest)
            column += 1
        column += 1
    row.refuse(
        not unknown and LoopOption.MODEL_PARALLEL_NPUS.value not in fields,
        f"{row.words[0]} needs 'model_parallel_NPU_group:', which is missing",
    )
    return loop, fields, unknown


def without_simai_keys(row: Row) -> tuple[Row, list[str], list[str]]:
    """The first line of a policy that has none of SimAI's keys: what else it says, the keys, and the unknown words.

    Raises InputError for a key without its number.
    """
    kept, found, unknown = [row.words[0]], [], []
    column = 1
    while column < len(row.words):
        word = row.words[column]
        if word in KEYS:
            found.append(word)
            row.refuse(column + 1 == len(row.words), f"the number after '{word}' is missing")
            column += 1 + len(_list(row, column)) if KEYS[word] in LISTS else 1
            if KEYS[word] not in LISTS:
                _number(row, column, word, 0)
        elif word == SIMAI_BOTTOM or _is_number(word):
            kept.append(word)
        else:
            unknown.append(word)
            column += column + 1 < len(row.words) and _is_number(row.words[column + 1])
        column += 1
    return Row(row.source, row.number, tuple(kept)), found, unknown


def unknown_key(word: str) -> str:
    """The mistake of a word where a key should be."""
    return f"key '{word}'{nearest(word, KEYS)}"


def format_simai_header(workload: Workload) -> str:
    """The first line of a workload's file, as AICB orders it."""
    words = [SIMAI_LOOPS[workload.loop]]
    for key, option in sorted(KEYS.items(), key=lambda item: item[1] is LoopOption.STAGE_BYTES):
        value = getattr(workload, option.value)
        if option not in LOOPS[workload.loop].options or key == "pp_comm" or value is None:
            continue
        words += [key, *([str(len(value)), *map(str, value)] if option in LISTS else [str(value)])]
    return " ".join(words)


def _is_number(word: str) -> bool:
    return re.fullmatch(r"-?[0-9]+(\.[0-9]*)?", word, re.ASCII) is not None


def _number(row: Row, column: int, key: str, smallest: int) -> int:
    found = re.fullmatch(r"([0-9]{1,19})(\.[0-9]*)?", row.words[column], re.ASCII)
    if found is None or not smallest <= int(found[1]) <= LARGEST_INTEGER:
        raise row.error(
            f"'{key}' is '{row.words[column]}', expected a whole number from {smallest} to {LARGEST_INTEGER}"
        )
    return int(found[1])


def _list(row: Row, key_column: int) -> tuple[int, ...]:
    """Numbers of layers behind the key in ``key_column`` and their count."""
    key, first = row.words[key_column], key_column + 2
    count = _number(row, key_column + 1, key, 0)
    row.refuse(
        first + count > len(row.words),
        f"'{key} {count}' is followed by {counted(len(row.words) - first, 'word')}, expected {count} numbers",
    )
    return tuple(_number(row, column, key, 0) for column in range(first, first + count))
