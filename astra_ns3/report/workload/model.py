"""A model's summary as plain data and as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

from astra_ns3.playing.training.model_summary import ModelSummary
from astra_ns3.units import counted, exact_time, format_bytes, format_time
from astra_ns3.workload.models.work import iteration_work

_DEGREES = ("tensor", "context", "data", "pipeline", "expert")
_SCALES = ((10**24, "Y"), (10**21, "Z"), (10**18, "E"), (10**15, "P"), (10**12, "T"), (10**9, "G"), (10**6, "M"))


def model_document(found: ModelSummary) -> dict[str, Any]:  # plain data for --json: a key, a type
    """Parameters, operations, the cut, and a row for each stage and for each kind of collective in a kind of group."""
    plan, totals, file = found.plan, found.totals, found.workload.file
    work = iteration_work(found.workload, plan)
    return {
        "source": found.workload.source,
        "kind": file.kind,
        "name": file.name,
        "npus": plan.degrees.npus + plan.servers,
        "degrees": {name: getattr(plan.degrees, name) for name in _DEGREES},
        "schedule": plan.schedule,
        "zero": plan.sharding.stage,
        "layers": totals.layers,
        "parameters": totals.parameters,
        "active_parameters": totals.active_parameters,
        "sample": totals.sample,
        "tokens_per_sample": totals.tokens,
        "samples_per_iteration": work.samples,
        "micro_batches": plan.micro_batches,
        "flops_per_sample": totals.training_flops,
        "flops_per_iteration": work.flops,
        "recomputed_flops_per_iteration": found.again_flops,
        "stages": [asdict(stage) for stage in found.stages],
        "collectives": [asdict(each) for each in found.traffic],
        "messages": found.messages.messages,
        "message_bytes": found.messages.bytes,
        "messages_of_an_npu": found.messages.messages_of_an_npu,
        "message_bytes_of_an_npu": found.messages.bytes_of_an_npu,
        **asdict(found.beyond),
        "checkpoint_every": 0 if plan.checkpoint is None or plan.checkpoint.interval_ps else plan.checkpoint.every,
        "checkpoint_interval_ps": 0 if plan.checkpoint is None else plan.checkpoint.interval_ps,
    }


def model_text(document: dict[str, Any]) -> str:  # what model_document gives
    """The same for people."""
    active = document["active_parameters"]
    samples, tokens = document["samples_per_iteration"], document["tokens_per_sample"]
    user = "token" if tokens > 1 else document["sample"]
    some = "" if active == document["parameters"] else f", of which a {user} uses {active:,}"
    of = f" of {tokens:,} tokens" if tokens > 1 else ""
    again = document["recomputed_flops_per_iteration"]
    rows = {
        "model": f"{document['name']}, {document['kind']}, {document['source']}",
        "parameters": f"{document['parameters']:,}{some}",
        "NPUs": f"{document['npus']:,}: {_degrees(document['degrees'])}",
        "parts": f"{_stages(document['stages'])}, {document['schedule']}, ZeRO {document['zero']}",
        "iteration": f"{samples:,} x {document['sample']}{of}, "
        f"in {counted(document['micro_batches'], 'micro-batch', 'micro-batches')} on each copy",
        "operations": f"{_count(document['flops_per_sample'])}FLOP for each {document['sample']}, "
        f"{_count(document['flops_per_iteration'])}FLOP for an iteration"
        + (f", and {_count(again)}FLOP again" if again else ""),
        "compute": f"{_span([stage['compute_ps'] for stage in document['stages']])} on an NPU, without the update",
    }
    lines = [f"{name:<17} {text}" for name, text in rows.items()]
    for each in document["collectives"]:
        group = f"{each['group']} group" if each["group"] != "first and last stage" else each["group"]
        lines.append(
            f"{each['collective']:<17} {each['count']:,} in the {group} of {each['members']:,}, "
            f"{format_bytes(each['bytes'])} on an NPU, {format_bytes(each['sent_bytes'])} sent"
        )
    if document["messages"]:
        own, every = (format_bytes(document[f"message_bytes{of}"]) for of in ("_of_an_npu", ""))
        lines.append(
            f"{'messages':<17} {document['messages_of_an_npu']:,} from an NPU, {own} sent; "
            f"{document['messages']:,} of all, {every}"
        )
    if document["stored_bytes"] or document["loaded_bytes"]:
        stored, loaded = (format_bytes(document[f"{what}_bytes"]) for what in ("stored", "loaded"))
        lines.append(f"{'beyond the device':<17} {stored} stored, {loaded} loaded on an NPU")
    if document["checkpoint_every"] or document["checkpoint_interval_ps"]:
        every = counted(document["checkpoint_every"], "iteration", "iterations")
        if document["checkpoint_interval_ps"]:
            every = exact_time(document["checkpoint_interval_ps"])
        lines.append(f"{'checkpoint':<17} {format_bytes(document['checkpoint_bytes'])} of all NPUs after each {every}")
    return "\n".join(lines)


def _degrees(degrees: dict[str, int]) -> str:
    product = " x ".join(f"{name} {degrees[name]}" for name in _DEGREES[:-1])
    return product if degrees["expert"] == 1 else f"{product}, expert {degrees['expert']}"


def _stages(stages: Sequence[dict[str, int]]) -> str:
    """Blocks of each stage; several alike are counted."""
    runs = [(blocks, len(list(run))) for blocks, run in groupby(stage["blocks"] for stage in stages)]
    words = ", ".join(f"{count} x {blocks}" if count > 1 else str(blocks) for blocks, count in runs)
    return f"{words} blocks"


def _span(times_ps: Sequence[int]) -> str:
    least, most = format_time(min(times_ps)), format_time(max(times_ps))
    return least if least == most else f"{least} to {most}"


def _count(number: int) -> str:
    """Four digits and a prefix."""
    for factor, prefix in _SCALES:
        if number >= factor:
            return f"{number / factor:.4g} {prefix}"
    return f"{number} "
