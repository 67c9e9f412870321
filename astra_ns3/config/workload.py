"""ASTRA-sim 1.0's text format of a workload, read strictly and written.

First line: the loop and its options. Second: the number of layers. Then one line per layer, columns separated by
blanks or tabs: name, a reserved number, then compute time (ns), collective and size (bytes) of the forward,
input-gradient and weight-gradient pass, and the update time (ns).
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from astra_ns3.config.collective_kind import CollectiveKind
from astra_ns3.config.layers import LARGEST_COMPUTE_NS, Layer, Pass, Workload
from astra_ns3.config.reading import read_text
from astra_ns3.errors import InputError, nearest
from astra_ns3.units import LARGEST_INTEGER

__all__ = ["LOOPS", "CollectiveKind", "Layer", "Pass", "Workload", "format_workload", "parse_workload", "read_workload"]

LOOPS = ("MICRO", "DATA", "HYBRID_DLRM", "HYBRID_DLRM_ENHANCED")
_DLRM_LOOPS = ("HYBRID_DLRM", "HYBRID_DLRM_ENHANCED")
_LOOPS_NOT_YET = (
    "MODEL",
    "HYBRID_DATA_MODEL",
    "HYBRID_MODEL_DATA",
    "HYBRID_CUSTOMIZED",
    "HYBRID_TRANSFORMER",
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD",
    "DISTRIBUTED_INFERENCE",
)
_KINDS = tuple(kind.value for kind in CollectiveKind)
_KIND_NOT_YET = "ALLREDUCEALLTOALL"
_COLUMNS = (
    "name",
    "reserved",
    "forward compute",
    "forward collective",
    "forward size",
    "input-gradient compute",
    "input-gradient collective",
    "input-gradient size",
    "weight-gradient compute",
    "weight-gradient collective",
    "weight-gradient size",
    "update time",
)


def read_workload(path: str | os.PathLike[str]) -> Workload:
    """Read a workload file; raises InputError with file, line and what was expected."""
    return parse_workload(read_text(path), os.fspath(path))


def parse_workload(text: str, source: str = "workload") -> Workload:
    """The workload that ``text`` describes; ``source`` names it in messages."""
    rows = [
        _Row(source, number, tuple(line.split())) for number, line in enumerate(text.splitlines(), 1) if line.strip()
    ]
    if not rows:
        raise InputError(f"{source}: is empty, expected a training loop on its first line")
    loop, last_bottom_layer = _header(rows[0])
    if len(rows) < 2:
        raise InputError(f"{source}:{rows[0].number + 1}: the number of layers is missing")
    if len(rows[1].words) != 1:
        raise rows[1].error(f"found {len(rows[1].words)} words, expected the number of layers alone")
    count = rows[1].integer(0, "number of layers", 1, LARGEST_INTEGER)
    layer_rows = rows[2:]
    if len(layer_rows) != count:
        raise rows[1].error(f"says {count} layers, found {len(layer_rows)} lines of layers")
    if last_bottom_layer is not None and last_bottom_layer > count - 2:
        raise rows[0].error(
            f"last bottom layer is {last_bottom_layer}, expected at most {count - 2}: "
            f"of {count} layers (numbered from 0) at least one belongs to the top MLP"
        )
    return Workload(loop, tuple(_layer(row) for row in layer_rows), last_bottom_layer, source)


def format_workload(workload: Workload) -> str:
    """The text of a workload, tabs between columns; :func:`parse_workload` reads it back to an equal one."""
    options = [] if workload.last_bottom_layer is None else [str(workload.last_bottom_layer)]
    lines = [" ".join([workload.loop, *options]), str(len(workload.layers))]
    for layer in workload.layers:
        columns: list[str] = [layer.name, "-1"]
        for part in (layer.forward, layer.input_gradient, layer.weight_gradient):
            kind = "NONE" if part.collective is None else part.collective.value
            columns += [str(part.compute_ns), kind, str(part.bytes)]
        lines.append("\t".join([*columns, str(layer.update_ns)]))
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class _Row:
    """The words of one line that is not blank."""

    source: str
    number: int
    words: tuple[str, ...]

    def error(self, message: str) -> InputError:
        return InputError(f"{self.source}:{self.number}: {message}")

    def integer(self, column: int, what: str, smallest: int, largest: int) -> int:
        """The whole number in ``column``; 19 digits hold every allowed one."""
        word = self.words[column]
        if not re.fullmatch(r"-?[0-9]{1,19}", word, re.ASCII) or not smallest <= int(word) <= largest:
            raise self.error(f"{what} is '{word[:40]}', expected a whole number from {smallest} to {largest}")
        return int(word)


def _header(row: _Row) -> tuple[str, int | None]:
    """Loop and last bottom layer; ``HYBRID_DLRM 4`` may also be written ``HYBRID_DLRM_4``."""
    joined = re.fullmatch(rf"({'|'.join(_DLRM_LOOPS)})_([0-9]+)", row.words[0], re.ASCII)
    words = (joined[1], joined[2], *row.words[1:]) if joined else row.words
    row = _Row(row.source, row.number, words)
    loop = words[0]
    if loop in _LOOPS_NOT_YET:
        raise row.error(f"training loop '{loop}' is not supported yet; supported: {', '.join(LOOPS)}")
    if loop not in LOOPS:
        hint = nearest(loop, (*LOOPS, *_LOOPS_NOT_YET))
        raise row.error(f"training loop '{loop[:40]}' is not one of {', '.join(LOOPS)}{hint}")
    if loop not in _DLRM_LOOPS:
        if len(words) > 1:
            raise row.error(f"found '{words[1]}' after {loop}, expected nothing")
        return loop, None
    if len(words) != 2:
        raise row.error(f"found {len(words) - 1} words after {loop}, expected one: the number of the last bottom layer")
    return loop, row.integer(1, "last bottom layer", 0, LARGEST_INTEGER)


def _layer(row: _Row) -> Layer:
    if len(row.words) != len(_COLUMNS):
        raise row.error(f"found {len(row.words)} columns, expected {len(_COLUMNS)}: {', '.join(_COLUMNS)}")
    row.integer(1, _COLUMNS[1], -LARGEST_INTEGER, LARGEST_INTEGER)
    return Layer(
        name=row.words[0],
        forward=_pass(row, 2),
        input_gradient=_pass(row, 5),
        weight_gradient=_pass(row, 8),
        update_ns=row.integer(11, _COLUMNS[11], 0, LARGEST_COMPUTE_NS),
    )


def _pass(row: _Row, column: int) -> Pass:
    compute_ns = row.integer(column, _COLUMNS[column], 0, LARGEST_COMPUTE_NS)
    word, size = row.words[column + 1], row.integer(column + 2, _COLUMNS[column + 2], 0, LARGEST_INTEGER)
    if word == "NONE":
        if size:
            raise row.error(f"{_COLUMNS[column + 2]} is {size}, expected 0 since the collective is NONE")
        return Pass(compute_ns)
    if word == _KIND_NOT_YET:
        raise row.error(f"collective '{word}' is not supported yet; supported: {', '.join(_KINDS)}, NONE")
    if word not in _KINDS:
        hint = nearest(word, (*_KINDS, "NONE"))
        raise row.error(f"collective '{word[:40]}' is not one of {', '.join(_KINDS)}, NONE{hint}")
    return Pass(compute_ns, CollectiveKind(word), size)
