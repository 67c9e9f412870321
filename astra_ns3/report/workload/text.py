"""A workload's overview as plain data and as text."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from operator import itemgetter
from typing import Any

from astra_ns3.config.graph_workload import GraphWorkload
from astra_ns3.units import counted, format_bytes, format_time
from astra_ns3.workload.graphs.kinds_of_work import words_along
from astra_ns3.workload.graphs.overview import CollectiveKey, Overview, Share

_MOST_LINES = 20


def overview_document(workload: GraphWorkload, found: Overview) -> dict[str, Any]:  # a key, a type
    """Counts, bytes and times; of collectives a row for each kind and communicator."""
    return {
        "source": workload.source,
        "format": workload.format,
        "npus": workload.npus,
        "nodes": found.nodes,
        "dependencies": found.dependencies,
        "kinds": dict(found.kinds.most_common()),
        "collectives": [
            {
                "collective": key.collective,
                "group": key.group,
                "members": key.members,
                **({"dimensions": list(key.dimensions)} if key.dimensions else {}),
                "collectives": share.nodes // max(key.members, 1),
                "bytes_of_each": share.bytes // max(key.members, 1),
            }
            for key, share in sorted(found.collectives.items())
        ],
        "messages": found.messages.nodes,
        "message_bytes": found.messages.bytes,
        "pairs": len(found.pairs),
        "compute_ps": {"least": min(found.compute_ps), "most": max(found.compute_ps)},
        "host_ps": found.host_ps,
        "operations": found.operations,
        "tensor_bytes": found.tensor_bytes,
        "memory_bytes": found.memory_bytes,
        "longest_chain_ps": max(found.chain_ps),
        "levels": len(found.levels),
    }


def overview_text(document: Mapping[str, Any], found: Overview) -> str:  # what overview_document gives
    """The same for people; communicators of one size are counted together."""
    npus = document["npus"]
    computed = _span(found.compute_ps, format_time)
    rows = {
        "workload": f"{document['source']}, {document['format']}, {counted(npus, 'NPU')}",
        "nodes": f"{document['nodes']:,}, {document['dependencies']:,} dependencies, {document['levels']:,} levels",
        "": ", ".join(f"{count:,} {kind}" for kind, count in document["kinds"].items()),
        "compute": f"{computed} on each NPU" if max(found.compute_ps) else "no computations",
        "longest chain": f"{format_time(document['longest_chain_ps'])} of an NPU's computations; it waits for no other",
    }
    if document["host_ps"]:
        rows["host"] = f"{format_time(document['host_ps'])} on all NPUs together"
    if document["operations"]:
        rows["operations"] = f"{document['operations']:,}"
    if document["tensor_bytes"] or document["memory_bytes"]:
        moved = format_bytes(document["tensor_bytes"])
        rows["memory"] = f"{moved} by computing, {format_bytes(document['memory_bytes'])} by loads and stores"
    if document["messages"]:
        sent = format_bytes(document["message_bytes"])
        rows["messages"] = f"{document['messages']:,} between {document['pairs']:,} pairs, {sent}"
    lines = [f"{name:<14} {text}" for name, text in rows.items() if text]
    return "\n".join([*lines, *_collective_lines(found, npus)])


def _collective_lines(found: Overview, npus: int) -> list[str]:
    """A line for each kind and size of communicator."""
    together: dict[CollectiveKey, tuple[Share, set[str]]] = {}
    for key, share in found.collectives.items():
        whole, groups = together.setdefault(key._replace(group=""), (Share(), set()))
        whole.nodes += share.nodes
        whole.bytes_of.update(share.bytes_of)
        groups.add(key.group)
    lines = [_line(key, *rest, npus) for key, rest in sorted(together.items(), key=itemgetter(0))]
    more = [f"{'':<14} and {counted(len(lines) - _MOST_LINES, 'more kind')}"] if len(lines) > _MOST_LINES else []
    return [*lines[:_MOST_LINES], *more]


def _line(key: CollectiveKey, share: Share, groups: set[str], npus: int) -> str:
    communicators = f"{counted(len(groups), 'communicator')} of {key.members:,}"
    of = words_along(key.dimensions or None) if groups == {""} else communicators
    each = _span(share.bytes_of.values(), format_bytes)
    on = "each NPU" if len(share.bytes_of) == npus else f"each of {counted(len(share.bytes_of), 'NPU')}"
    return f"{key.collective:<14} {share.nodes // max(key.members, 1):,} in {of}, {each} on {on}"


def _span(numbers: Collection[int], worded: Callable[[int], str]) -> str:
    least, most = worded(min(numbers)), worded(max(numbers))
    return least if least == most else f"{least} to {most}"
