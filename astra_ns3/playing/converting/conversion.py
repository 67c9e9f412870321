"""From a workload of one format to another, where that can say it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from math import prod
from typing import NamedTuple

from astra_ns3.config.flow_list import FlowList
from astra_ns3.config.flow_stream import FlowStream
from astra_ns3.config.graph_workload import GraphWorkload, NodeKind
from astra_ns3.config.workload import Workload
from astra_ns3.errors import located, of_type, one_of, refuse, required, wrong
from astra_ns3.frozen import replace
from astra_ns3.playing.converting.starts import ends_apart, other_orders, other_starts
from astra_ns3.playing.converting.targets import ASTRA_SIM, CHAKRA, CHAKRA_JSON, MODEL, SIMAI
from astra_ns3.playing.converting.unrolled import UnrolledLoop
from astra_ns3.playing.training.making import training_programs
from astra_ns3.units import counted
from astra_ns3.workload.files.astra_sim import format_workload, parse_workload
from astra_ns3.workload.files.chakra.files import rank_files, rank_of
from astra_ns3.workload.files.chakra.target import Together
from astra_ns3.workload.files.chakra.trace import ChakraTrace
from astra_ns3.workload.files.chakra.writer import write_chakra
from astra_ns3.workload.files.flows.writing import WRITERS, write_flows
from astra_ns3.workload.files.simai import format_simai, parse_simai
from astra_ns3.workload.files.workload_formats import AnyWorkload
from astra_ns3.workload.graphs.checking import check_graphs
from astra_ns3.workload.graphs.rolled import rolled
from astra_ns3.workload.loops.loop_kinds import SIMAI_LOOPS
from astra_ns3.workload.models.as_loop import lost_as_loop, model_as_loop
from astra_ns3.workload.models.changes import write_model
from astra_ns3.workload.models.workload import ModelWorkload


class Unrolling(NamedTuple):
    """Settings for making a graph of a training loop: NPUs along each dimension, passes, and the scheduling policy."""

    dimensions: tuple[int, ...] | None = None
    passes: int = 1
    scheduling_policy: str = "LIFO"


class Converted(NamedTuple):
    """The files that were written, what they hold in a few words, and what their reader should know."""

    files: tuple[str, ...]
    holds: str
    warnings: tuple[str, ...] = ()


_Write = Callable[[AnyWorkload, str, Unrolling], Converted]


def convert(workload: AnyWorkload, target: str, output: str | os.PathLike[str], unrolling: Unrolling) -> Converted:
    """Write ``workload`` to ``output`` in the format ``target``, one of the ``TARGETS``; raises InputError."""
    converted = one_of("format", target, _WRITTEN)(workload, os.fspath(output), unrolling)
    if not isinstance(workload, ModelWorkload) or target == MODEL:
        return converted
    return converted._replace(warnings=(*converted.warnings, *losses_left_out(workload)))


def check_unrolling(workload: AnyWorkload, target: str, unrolling: Unrolling) -> None:
    """Raise InputError for settings that change nothing of what is written."""
    heeded = _heeded(workload, target)
    usual = Unrolling()._asdict()
    idle = [name for name, value in unrolling._asdict().items() if value != usual[name] and name not in heeded]
    works = f"only {_options(heeded)} works" if heeded else f"none of {_options(Unrolling._fields)} works"
    refuse(
        bool(idle),
        f"{_options(idle)}: no effect on this workload in the format {target}, where {works}",
        workload.source,
    )


def _heeded(workload: AnyWorkload, target: str) -> tuple[str, ...]:
    """Return the settings that change what is written."""
    of_simai = isinstance(workload, Workload) and workload.loop in SIMAI_LOOPS
    if isinstance(workload, (Workload, ModelWorkload)):
        if target in (CHAKRA, CHAKRA_JSON) or (target == SIMAI and not of_simai):
            return Unrolling._fields
        return ("dimensions",) if target == ASTRA_SIM and isinstance(workload, ModelWorkload) else ()
    return ("dimensions",) if target == SIMAI and _rank_alone(workload) is not None else ()


def _options(names: Iterable[str]) -> str:
    return ", ".join(f"--{name.replace('_', '-')}" for name in names)


def files_there(workload: AnyWorkload, target: str, output: str) -> tuple[str, ...]:
    """Return the files that :func:`convert` would replace."""
    if not target.startswith(CHAKRA):
        return (output,) if os.path.lexists(output) else ()
    suffix = "json" if target == CHAKRA_JSON else "et"
    ranks = rank_files(output.removesuffix(f".{suffix}"), suffix)
    alone = _rank_alone(workload)
    return tuple(path for rank, path in ranks.items() if alone is None or rank == alone)


def losses_left_out(workload: ModelWorkload) -> tuple[str, ...]:
    """Return a line about what a model's device loses while it is played, for which only a model file has a place."""
    losses = workload.file.compute.losses
    lost: list[str] = []
    if losses.scale_up_efficiency != 1:
        lost.append(f"its lines inside a node reach {losses.scale_up_efficiency:g} of their rate (scale_up_efficiency)")
    if losses.overlap_slowdown != 1:
        share = 1 - 1 / losses.overlap_slowdown
        lost.append(
            f"collectives slow computing {losses.overlap_slowdown:g} times (overlap_slowdown; in a file for "
            f"--compute-slowdown: communication: {{processors: {share:.6g}, memory_bandwidth: {share:.6g}}})"
        )
    return (f"{workload.source}: only a model file can say that {', and '.join(lost)}",) if lost else ()


def _to_chakra(workload: AnyWorkload, output: str, unrolling: Unrolling, *, as_json: bool = False) -> Converted:
    graphs = as_graphs(workload, unrolling)
    prefix, rank = output.removesuffix(".json" if as_json else ".et"), _rank_alone(graphs)
    refuse(
        rank is None and os.path.lexists(prefix),
        "is there, and -w with its name would play it in place of the traces; expected another name",
        prefix,
    )
    warnings = (*graphs.warnings, *check_graphs(graphs, collectives=rank is None, messages=rank is None))
    written = write_chakra(graphs, prefix, as_json=as_json, rank=rank)
    if isinstance(graphs, UnrolledLoop):
        apart = set[str]().union(*(ends_apart(graphs, npu) for npu in graphs.first_npus))
        warnings = (*warnings, *graphs.other_updates(), *other_starts(apart, graphs.source), *other_orders(graphs))
    if written.rounded:
        warnings = (
            *warnings,
            f"{written.files[0]}: {written.rounded} nodes last no whole number of microseconds; duration_micros is "
            "rounded, and only this program reads duration_ps",
        )
    files = written.files if written.groups is None else (*written.files, written.groups)
    return Converted(files, f"{counted(written.nodes, 'node')} of {counted(graphs.npus, 'NPU')}", warnings)


def _rank_alone(workload: object) -> int | None:
    """The rank of a job that a trace alone is from; other files say who else is in its collectives."""
    return rank_of(workload.files[0]) or 0 if isinstance(workload, ChakraTrace) and workload.alone else None


def as_graphs(workload: AnyWorkload, unrolling: Unrolling) -> GraphWorkload:
    """A workload as graphs; raises InputError for what can't be one."""
    if isinstance(workload, (FlowList, FlowStream)):
        raise wrong("flows start at times, which no graph of ours can say", workload.source)
    if not isinstance(workload, (Workload, ModelWorkload)):
        return workload
    dimensions = required(
        unrolling.dimensions,
        "is a training loop, whose graph depends on the NPUs that play it; say --dimensions",
        workload.source,
    )
    if isinstance(workload, ModelWorkload):
        plan = workload.plan(prod(dimensions))
        programs = training_programs(plan, workload.clock(), unrolling.passes, dimensions)
        return UnrolledLoop(programs, unrolling.scheduling_policy)
    return UnrolledLoop.of(workload, unrolling.passes, dimensions, unrolling.scheduling_policy)


def _to_text(workload: AnyWorkload, output: str, unrolling: Unrolling) -> Converted:
    lost: tuple[str, ...] = ()
    if isinstance(workload, ModelWorkload):
        sizes = unrolling.dimensions
        npus = workload.least_npus if sizes is None else prod(sizes)
        lost = lost_as_loop(workload, npus)
        workload = model_as_loop(workload, npus)
    loop = _loop(workload, "ASTRA-sim's")
    refuse(
        loop.loop in SIMAI_LOOPS,
        "is one of SimAI's, whose groups ASTRA-sim's text can't say; say --to simai",
        loop.source,
    )
    return _written(loop, "ASTRA-sim's", format_workload, parse_workload, output)._replace(warnings=lost)


def _to_model(workload: AnyWorkload, output: str, unrolling: Unrolling) -> Converted:
    workload = of_type(workload, ModelWorkload, "isn't a model file, and can't be written as one", workload.source)
    write_model(workload, output)
    return Converted((output,), f"{workload.name}, {counted(workload.totals().layers, 'layer')}")


def _to_simai(workload: AnyWorkload, output: str, unrolling: Unrolling) -> Converted:
    if isinstance(workload, Workload) and workload.loop in SIMAI_LOOPS:
        return _written(workload, "SimAI's", format_simai, parse_simai, output)
    if isinstance(workload, FlowList):
        _loop(workload, "SimAI's")
    graphs = _of_all_npus(as_graphs(workload, unrolling), unrolling.dimensions)
    warnings = (*graphs.warnings, *check_graphs(graphs))
    loop = rolled(graphs)
    if not isinstance(graphs, UnrolledLoop) and graphs.npus > 1:
        warnings = (*warnings, *other_starts(ends_apart(graphs, 0), graphs.source))
    converted = _written(loop, "SimAI's", format_simai, parse_simai, output)
    turns = sum(layer.weight_gradient.collective is not None for layer in loop.layers)
    given = _ranks(graphs)
    ranked = any(node.priority for node in graphs.nodes(0) if node.kind is NodeKind.COLLECTIVE)
    if turns > (not ranked) and given != _ranks(UnrolledLoop.of(loop, 1, (graphs.npus,))):
        order = "their priorities, which aren't in the text" if ranked else "the system's scheduling-policy"
        warnings = (
            *warnings,
            f"{output}: the text has {counted(turns, 'collective')} that nothing waits for take turns first in, "
            f"first out, a graph by {order}",
        )
    lost = sum(bool(node.operations or node.tensor_bytes) for node in graphs.nodes(0))
    if lost:
        warnings = (*warnings, f"{graphs.file_of(0)}: operations and tensors of {lost} nodes aren't in the text")
    return converted._replace(warnings=warnings)


def _ranks(graphs: GraphWorkload) -> list[int]:
    """Return each collective's place as priorities say: the highest goes first, 0 behind all that have a priority.

    Equal ones go in order of arrival. All of 0 share a place, for the system decides on their order.
    """
    priorities = [node.priority for node in graphs.nodes(0) if node.kind is NodeKind.COLLECTIVE]
    keys = [(1, priority, -number) if priority else (0, 0, 0) for number, priority in enumerate(priorities)]
    places = {key: place for place, key in enumerate(sorted({*keys}))}
    return [places[key] for key in keys]


def _of_all_npus(graphs: GraphWorkload, dimensions: tuple[int, ...] | None) -> GraphWorkload:
    """The graphs, the trace of one rank being that of all NPUs; raises InputError if their number is unknown."""
    if not isinstance(graphs, ChakraTrace) or not graphs.alone:
        return graphs
    if dimensions is not None:
        return replace(graphs, files=graphs.files * prod(dimensions))
    refuse(
        any(node.kind is NodeKind.COLLECTIVE for node in graphs.nodes(0)),
        "is the trace of one rank, whose collectives don't say how many NPUs there are; say --dimensions",
        graphs.source,
    )
    return graphs


def _loop(workload: AnyWorkload, whose: str) -> Workload:
    if not isinstance(workload, Workload):
        what = "a model" if isinstance(workload, ModelWorkload) else "graphs"
        what = "a list of flows" if isinstance(workload, FlowList) else what
        raise wrong(f"is {what}, which {whose} text, layers and a loop, can't say", workload.source)
    return workload


def _written(
    workload: Workload,
    whose: str,
    text_of: Callable[[Workload], str],
    parse: Callable[[str, str], Workload],
    output: str,
) -> Converted:
    """Write a loop as text, if what is read of it again is the same."""
    text = text_of(workload)
    with located(f"{workload.source}: {whose} text can't say it"):
        again = parse(text, workload.source)
    refuse(again != workload, f"{whose} text can't say all that it says", workload.source)
    with Together() as target, target.open(output) as file:
        file.write(text.encode())
    return Converted((output,), f"{counted(len(workload.layers), 'layer')}")


def _to_flows(target: str) -> _Write:
    def write(workload: AnyWorkload, output: str, unrolling: Unrolling) -> Converted:
        workload = of_type(workload, FlowList, "isn't a list of flows, and can't be written as one", workload.source)
        write_flows(workload, output, target)
        return Converted((output,), f"{counted(len(workload), 'flow')}", workload.warnings)

    return write


_WRITTEN: Mapping[str, _Write] = {
    CHAKRA: _to_chakra,
    CHAKRA_JSON: partial(_to_chakra, as_json=True),
    ASTRA_SIM: _to_text,
    SIMAI: _to_simai,
    MODEL: _to_model,
    **{name: _to_flows(name) for name in WRITERS},
}
