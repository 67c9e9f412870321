"""NCCL's choices for the collectives of a run, played too: whether another algorithm or protocol had been faster.

The collectives that the chain spends most time in are played alone, on the run's own network with the run's own NCCL:
as the tuner chooses, and as it might have. ``NCCL_ALGO`` and ``NCCL_PROTO`` force each choice. How many messages that
takes is known beforehand, and what takes too many is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.core.document import Document
from astra_ns3.config.core.model import validated
from astra_ns3.config.core.plain import Json
from astra_ns3.config.nccl import NcclConfig
from astra_ns3.config.network.file import AnyNetwork
from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.errors import InputError, refuse, wrong
from astra_ns3.experiments.nccl.bench import OPERATIONS, BenchRow, Case, bench, system_of
from astra_ns3.experiments.nccl.servers_of_network import place_of
from astra_ns3.experiments.nccl.what_if import WhatIf, choice_document, choice_name, doubts
from astra_ns3.frozen import dataclass, replace
from astra_ns3.nccl.constants import FUNCTIONS
from astra_ns3.report.explanation.explanation import Explanation
from astra_ns3.report.network_of import network_of
from astra_ns3.report.records import COLLECTIVES, Recorded, by_value, table_of
from astra_ns3.report.tables import Records
from astra_ns3.system.communicator import Communicator
from astra_ns3.system.groups import Grid
from astra_ns3.system.nccl.parts import of_name
from astra_ns3.system.nccl.planner import NcclPlanner, pattern
from astra_ns3.units import PS_PER_US, format_bytes, format_time

MOST = 3
"""So many collectives are played."""
MOST_MESSAGES = 5_000_000
"""A collective's choices have so many messages together; 100,000 take a second or two."""
HINT = (
    "whether NCCL chose well: --choices (in Python choices=True) plays the collectives of the chain by its other "
    "algorithms and protocols"
)
_OF_ALL = (
    "  a variable holds for all collectives of the run, and a time is of its collective alone: a run with the variable "
    "tells what all gain"
)
_BY_NCCL = "nccl "
_TUNED: Mapping[CollectiveKind, str] = {kind: name for name, kind in OPERATIONS.items() if kind in FUNCTIONS}
Groups = tuple[tuple[int, ...], ...]
Pair = tuple[str, str]
"""Algorithm and protocol."""


@dataclass(frozen=True)
class Played:
    """A collective of the chain in each of ``groups`` of NPUs. ``bytes``: of each NPU; ``chain_ps``: of all that are
    alike. ``found``: as NCCL chose and as it might have (None: ``untold`` says why it wasn't played); ``left_out``:
    choices that have too many messages; ``refused``: why the run can't have the variables."""

    kind: CollectiveKind
    bytes: int
    groups: Groups
    algorithm: str
    chain_ps: int
    found: WhatIf | None = None
    left_out: tuple[str, ...] = ()
    untold: str = ""
    refused: str = ""

    @property
    def variables(self) -> str:
        """The variables that make NCCL choose the fastest; empty if NCCL chooses it already."""
        best = None if self.found is None else self.found.faster
        if self.found is None or best is None:
            return ""
        own = self.found.row
        forced = [f"NCCL_ALGO={best.algorithm}"] if best.algorithm != own.algorithm else []
        return " ".join([*forced, *([f"NCCL_PROTO={best.protocol}"] if best.protocol != own.protocol else [])])


def has_choices(run: Records, found: Explanation) -> bool:
    """Whether NCCL's tuner chose for a collective of the chain."""
    chosen = {int(row["collective"]) for row in _chosen(run, _TUNED)}
    return any(link.collective in chosen for link in found.segments)


def choices_of(run: Records, found: Explanation, most_messages: int = MOST_MESSAGES) -> list[Played]:
    """Play the collectives that take most of the chain by NCCL's other choices. Raises InputError."""
    network = network_of(run.metadata["network"])
    refuse(not found.segments, "--choices needs the chain: run with --record timeline --record flows")
    if network is None:
        raise wrong("--choices: the run's network has a part that run.json doesn't hold, so it can't be played again")
    every = on_chain(run, network, found, _TUNED)
    played = [one if one.untold else _Machine(run, network, one).played(most_messages) for one in every[:MOST]]
    unlike = {(one.kind, one.groups): one for one in every if not one.untold}
    others = [_Machine(run, network, one) for one in unlike.values()]
    return [replace(one, refused=next(filter(None, (each.refusal(one) for each in others)), "")) for one in played]


def doubts_of(run: Records) -> tuple[str, ...]:
    """Return the warnings beside the choices of a run."""
    network = network_of(run.metadata["network"])
    return () if network is None else doubts(network, _backend_of(run, network))


def _backend_of(run: Records, network: AnyNetwork) -> str:
    return "flow" if isinstance(network, NetworkConfig) else str(run.metadata["backend"])


def _chosen(run: Records, kinds: Container[CollectiveKind]) -> Iterator[dict[str, str]]:
    for row in run.rows(COLLECTIVES):
        if row["algorithm"].startswith(_BY_NCCL) and CollectiveKind(row["kind"]) in kinds:
            yield row


def on_chain(
    run: Records, network: AnyNetwork, found: Explanation, kinds: Container[CollectiveKind] = frozenset(CollectiveKind)
) -> list[Played]:
    """NCCL's collectives of the chain, those that are alike as one, the most first; with why one can't be played."""
    times = Counter[int]()
    for link in found.segments:
        times[link.collective] += link.time_ps
    rows = [row for row in _chosen(run, kinds) if int(row["collective"]) in times]
    groups = _groups(run, [(int(row["collective"]), int(row["npus"])) for row in rows])
    sums = Counter[tuple[str, int, Groups, str]]()
    for row in rows:
        number = int(row["collective"])
        sums[row["kind"], int(row["bytes"]), groups[number], row["algorithm"]] += times[number]
    return [
        Played(CollectiveKind(kind), size, members, algorithm, ps, untold=_untold(run, network, members))
        for (kind, size, members, algorithm), ps in sums.most_common()
    ]


def _untold(run: Records, network: AnyNetwork, groups: Groups) -> str:
    """Why groups can't be played as in the run; empty if they can."""
    if not groups:
        return "who plays together is told by messages: run with --record flows"
    of_server = place_of(network).npus
    lying = {pattern([npu // of_server for npu in group]) for group in npus_of(run, groups)}
    return "" if len(lying) == 1 else "its groups lie differently on servers, where one ring stands for NCCL's choice"


def npus_of(run: Records, groups: Groups) -> Groups:
    """The network's NPUs of groups of ranks."""
    metadata = run.metadata
    npus = metadata["job"]["npus"] if "job" in metadata else range(metadata["npus"])
    return tuple(tuple(npus[rank] for rank in group) for group in groups)


def _groups(run: Records, collectives: Sequence[tuple[int, int]]) -> dict[int, Groups]:
    """The groups of NPUs that play each of some collectives, ``(number, NPUs of a group)``; none if nobody knows.

    All groups of a collective play at once. Who belongs together is told by who sends to whom.
    """
    members = _by_collective(table_of(run, "phases"), "npu")
    ends = _by_collective(table_of(run, "accounts") or table_of(run, "flows"), "source", "destination")
    found: dict[int, Groups] = {}
    for number, size in collectives:
        npus = np.unique(members[number]).tolist() if number in members else []
        parts = _joined(ends[number]) if len(npus) != size and number in ends else (tuple(npus),)
        found[number] = parts if all(len(part) == size for part in parts) else ()
    return found


def _by_collective(table: Recorded | None, *columns: str) -> dict[int, npt.NDArray[np.int64]]:
    """The rows of a table by collective, each one once; shape ``(rows, columns)``."""
    if table is None:
        return {}
    known = table.whole(("collective", *columns))
    rows = np.unique(np.stack([known[name] for name in ("collective", *columns)], axis=1), axis=0)
    return {number: rows[here, 1:] for number, here in by_value(rows[:, 0])}


def _joined(ends: npt.NDArray[np.int64]) -> Groups:
    """NPUs that are joined by messages, each from one to another, as groups."""
    group_of: dict[int, set[int]] = {}
    for source, destination in ends.tolist():
        one, other = (group_of.setdefault(npu, {npu}) for npu in (source, destination))
        if one is not other:
            one |= other
            group_of.update(dict.fromkeys(other, one))
    return tuple(sorted({tuple(sorted(group)) for group in group_of.values()}))


class _Machine:
    """A run's network and NCCL, with the NPUs of one of its collectives."""

    def __init__(self, run: Records, network: AnyNetwork, one: Played) -> None:
        metadata, groups = run.metadata, npus_of(run, one.groups)
        # nccl-tests count for an all-gather what each rank has after it.
        size = one.bytes * (len(groups[0]) if one.kind is CollectiveKind.ALL_GATHER else 1)
        self._one, self._network, self._seed = one, network, int(metadata["seed"])
        self._case = Case(size, groups[0], groups[1:])
        self._keys: Mapping[str, Json] = metadata["system"].get("nccl") or {}
        self._backend = _backend_of(run, network)

    def played(self, most_messages: int) -> Played:
        """The collective by each choice, those with the fewest messages first."""
        own = of_name(self._one.algorithm)[:2]
        pairs = self._planners({})[0].allowed(self._one.kind, (0,))
        kept, left_out = self._within(own, pairs, most_messages)
        if own not in kept:
            return replace(self._one, untold=f"it has more than {most_messages:,} messages")
        rows = [self._row(*pair) for pair in kept]
        others = sorted(rows[1:], key=lambda row: row.time_us)
        return replace(self._one, found=WhatIf(rows[0], tuple(others)), left_out=left_out)

    def refusal(self, other: Played) -> str:
        """Why NCCL can't play this collective with the variables that another one should have; empty: it can."""
        variables = dict(word.split("=") for word in other.variables.split())
        try:
            for planner in self._planners(variables):
                planner.chunks(self._one.kind, self._one.bytes, (0,))
        except InputError as error:
            return str(error).removeprefix("NCCL: ")
        return ""

    def _within(self, own: Pair, pairs: Sequence[Pair], most_messages: int) -> tuple[list[Pair], tuple[str, ...]]:
        """The choices that have few enough messages together, NCCL's own first, and the others' names."""
        counts = {pair: self._messages(pair) for pair in {own, *pairs}}
        kept: list[Pair] = []
        left = most_messages
        order = sorted(counts, key=lambda pair: (pair != own, counts[pair], pair))
        for pair in order:
            if counts[pair] > left:
                break
            left -= counts[pair]
            kept.append(pair)
        return kept, tuple(" ".join(pair) for pair in order[len(kept) :])

    def _table(self, variables: Mapping[str, Json]) -> NcclConfig:
        given = self._keys.get("environment")
        environment = {**(given if isinstance(given, Mapping) else {}), **variables}
        return validated(NcclConfig, Document("nccl", {**self._keys, "environment": environment}), {})

    def _planners(self, variables: Mapping[str, Json]) -> list[NcclPlanner]:
        """A planner for each group."""
        system = system_of(self._network, self._table(variables), self._backend)
        table = system.nccl
        assert table is not None
        world = Grid((self._network.npus,))
        groups = (Communicator(members) for members in self._case.groups if members is not None)
        return [NcclPlanner(table, world.of(group), system.reduction_trees) for group in groups]

    def _messages(self, pair: Pair) -> int:
        chunks = (each.chunks(self._one.kind, self._one.bytes, (0,)) for each in self._planners(_forced(pair)))
        return sum(phase.schedule.messages for phases in chunks for (phase,) in phases if phase.schedule is not None)

    def _row(self, *pair: str) -> BenchRow:
        operation, table = _TUNED[self._one.kind], self._table(_forced(pair))
        (row,) = bench(operation, [self._case], self._network, table, backend=self._backend, seed=self._seed)
        return row


def _forced(pair: Sequence[str]) -> dict[str, Json]:
    return {"NCCL_ALGO": pair[0], "NCCL_PROTO": pair[1]}


def messages_of(run: Records, found: Explanation) -> str:
    """Return a line on collectives of the chain that NCCL makes of messages, its tuner without a choice; or nothing."""
    times = Counter[int]()
    for link in found.segments:
        times[link.collective] += link.time_ps
    kinds = Counter[str]()
    for row in _chosen(run, frozenset(CollectiveKind) - set(_TUNED)):
        kinds[row["kind"]] += times[int(row["collective"])]
    told = ", ".join(f"{kind} ({format_time(ps)} of the chain)" for kind, ps in kinds.most_common() if ps)
    return f"\n  left out, as NCCL makes it of messages, without a choice: {told}" if told else ""


def choices_text(found: Sequence[Played], messages: str = "") -> str:
    """For people: each collective with its times; ``messages``: a line on others."""
    if not found:
        return f"NCCL's choices: its tuner chose for no collective of the chain{messages}"
    lines = ["NCCL's choices, each collective played alone", *(line for one in found for line in _lines(one))]
    lines[-1] += messages
    return "\n".join([*lines, *([_OF_ALL] if any(one.variables and not one.refused for one in found) else [])])


def _lines(one: Played) -> Iterator[str]:
    groups = f", {len(one.groups)} groups at once" if len(one.groups) > 1 else ""
    npus = f", {len(one.groups[0])} NPUs{groups}" if one.groups else ""
    what = f"{one.kind.value} of {format_bytes(one.bytes)}{npus}"
    yield f"  {what}, {format_time(one.chain_ps)} of the chain: {one.algorithm}"
    if one.found is None:
        yield f"    not played: {one.untold}"
        return
    own, best = one.found.row, one.found.faster
    if best is None:
        verdict = "" if one.left_out else ": the tuner's choice was right"
        yield f"    {_time(own)}; no other that was played is faster by more than 1%{verdict}"
    else:
        yield (
            f"    {choice_name(best)} would take {_time(best)} instead of {_time(own)}: the tuner's choice was wrong "
            f"({f'no variable helps: {one.refused}' if one.refused else one.variables})"
        )
    others = ", ".join(f"{choice_name(row)} {_time(row)}" for row in one.found.others if row is not best)
    if others:
        yield f"    others: {others}"
    if one.left_out:
        yield f"    not played, too many messages: {', '.join(one.left_out)}"


def _time(row: BenchRow) -> str:
    return format_time(round(row.time_us * PS_PER_US))


def choices_document(found: Sequence[Played]) -> list[Json]:
    """For scripts."""
    return [
        {
            "kind": one.kind.value,
            "bytes": one.bytes,
            "groups": [list(group) for group in one.groups],
            "algorithm": one.algorithm,
            "chain_ps": one.chain_ps,
            "chosen": None if one.found is None else choice_document(one.found.row),
            "others": [] if one.found is None else [choice_document(row) for row in one.found.others],
            "faster": None if one.found is None or one.found.faster is None else choice_document(one.found.faster),
            "variables": "" if one.refused else one.variables,
            "refused": one.refused,
            "left_out": list(one.left_out),
            "untold": one.untold,
        }
        for one in found
    ]
