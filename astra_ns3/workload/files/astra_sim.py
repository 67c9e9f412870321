"""ASTRA-sim 1.0's text format of a workload, read strictly and written.

First line: the loop and its options (:mod:`astra_ns3.workload.files.astra_sim_header`). Second: the number of layers.
Then one line per layer, columns separated by blanks or tabs: name, a reserved number, then compute time (ns),
collective and size (bytes) of the forward, input-gradient and weight-gradient pass, the update time (ns), and, where
layers name the loop whose dimensions they take (HYBRID_CUSTOMIZED, a loop of the user's), that policy.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from astra_ns3.config.core.collective_kind import TEXT_FORMAT_KINDS, CollectiveKind
from astra_ns3.config.core.reading import read_text
from astra_ns3.config.core.rows import Row, rows_of
from astra_ns3.config.workload import LARGEST_COMPUTE_NS, Layer, Pass, Workload
from astra_ns3.errors import Where, nearest, refuse
from astra_ns3.units import LARGEST_INTEGER, counted
from astra_ns3.user_code import user_part
from astra_ns3.workload.files.astra_sim_header import check_layer_numbers, format_header, parse_header
from astra_ns3.workload.loops.loop_kinds import LAYER_POLICIES, LOOPS

_KINDS = tuple(kind.value for kind in TEXT_FORMAT_KINDS)
_KIND_NOT_YET = "ALLREDUCEALLTOALL"
COLUMNS = (
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
_POLICY_COLUMN = "policy"


def read_workload(path: str | os.PathLike[str]) -> Workload:
    """Read a workload file; raises InputError with file, line and what was expected."""
    return parse_workload(read_text(path), os.fspath(path))


def parse_workload(text: str, source: str = "workload") -> Workload:
    """The workload that ``text`` describes; ``source`` names it in messages."""
    rows = rows_of(text, source)
    refuse(not rows, "is empty, expected a training loop on its first line", source)
    header = parse_header(rows[0])
    refuse(len(rows) < 2, "the number of layers is missing", Where(source, rows[0].number + 1))
    rows[1].refuse(len(rows[1].words) != 1, f"found {len(rows[1].words)} words, expected the number of layers alone")
    count = rows[1].integer(0, "number of layers", 1, LARGEST_INTEGER)
    layer_rows = rows[2:]
    for row in layer_rows if len(layer_rows) != count else ():
        row.refuse(row.words[0].startswith("#"), "begins with '#'")
    rows[1].refuse(len(layer_rows) != count, f"says {counted(count, 'layer')}, found {len(layer_rows)}")
    check_layer_numbers(rows[0], header, count)
    return Workload(
        loop=header.loop,
        layers=tuple(_layer(row, header.loop) for row in layer_rows),
        last_bottom_layer=header.last_bottom_layer,
        source=source,
        model_parallel_npus=header.model_parallel_npus,
        checkpoints=header.checkpoints,
        checkpoint_initiates=header.checkpoint_initiates,
    )


def format_workload(workload: Workload) -> str:
    """The text of a workload, tabs between columns; :func:`parse_workload` reads it back to an equal one."""
    lines = [format_header(workload), str(len(workload.layers))]
    for layer in workload.layers:
        columns: list[str] = [layer.name, "-1"]
        for part in layer.passes.values():
            kind = "NONE" if part.collective is None else part.collective.value
            columns += [str(part.compute_ns), kind, str(part.bytes)]
        columns += [str(layer.update_ns)] if layer.policy is None else [str(layer.update_ns), layer.policy]
        lines.append("\t".join(columns))
    return "\n".join(lines) + "\n"


def _layer(row: Row, loop: str) -> Layer:
    own = user_part(loop) is not None
    has_policy = len(row.words) > len(COLUMNS) if own else LOOPS[loop].dimensions is None
    return read_layer(row, _pass, has_policy=has_policy)


def read_layer(row: Row, pass_of: Callable[[Row, int], Pass], *, has_policy: bool) -> Layer:
    """Return the layer of a row; ``pass_of`` reads the three columns of a pass from a column on. Raises InputError."""
    expected = (*COLUMNS, _POLICY_COLUMN) if has_policy else COLUMNS
    row.refuse(
        len(row.words) != len(expected),
        f"found {counted(len(row.words), 'column')}, expected {len(expected)}: {', '.join(expected)}",
    )
    row.integer(1, COLUMNS[1], -LARGEST_INTEGER, LARGEST_INTEGER)
    return Layer(
        name=row.words[0],
        forward=pass_of(row, 2),
        input_gradient=pass_of(row, 5),
        weight_gradient=pass_of(row, 8),
        update_ns=row.integer(11, COLUMNS[11], 0, LARGEST_COMPUTE_NS, "ns"),
        policy=_policy(row) if has_policy else None,
    )


def _policy(row: Row) -> str:
    """Return the loop whose dimensions a layer takes, the thirteenth column; raises InputError."""
    word = row.words[len(COLUMNS)]
    if word not in LAYER_POLICIES:
        hint = nearest(word, LAYER_POLICIES)
        raise row.error(f"policy '{word}' is not one of {', '.join(LAYER_POLICIES)}{hint}")
    return word


def _pass(row: Row, column: int) -> Pass:
    compute_ns = row.integer(column, COLUMNS[column], 0, LARGEST_COMPUTE_NS, "ns")
    word, size = row.words[column + 1], row.integer(column + 2, COLUMNS[column + 2], 0, LARGEST_INTEGER)
    if word == "NONE":
        row.refuse(size != 0, f"{COLUMNS[column + 2]} is {size}, expected 0 since the collective is NONE")
        return Pass(compute_ns)
    row.refuse(word == _KIND_NOT_YET, f"collective '{word}' is not supported yet; supported: {', '.join(_KINDS)}, NONE")
    if word not in _KINDS:
        hint = nearest(word, (*_KINDS, "NONE"))
        raise row.error(f"collective '{word}' is not one of {', '.join(_KINDS)}, NONE{hint}")
    return Pass(compute_ns, CollectiveKind(word), size)
