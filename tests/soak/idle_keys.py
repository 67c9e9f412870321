"""Whether each key of a run's files has an effect, or the run says that it has none."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml

from astra_ns3.config.network.packet_network import NetworkConfig, parse_network
from astra_ns3.config.transports.roce import RoceTransport
from astra_ns3.errors import AstraNs3Error
from astra_ns3.experiments.options import Options
from astra_ns3.experiments.result import Result
from astra_ns3.experiments.validate import validate
from astra_ns3.network.plan import plan_network
from astra_ns3.network.recorded import PHASES
from soak.keys import Key, keys_of, other_values, with_value
from soak.models import WORD
from soak.relations import SHARE, Found, NotPlayed, usable_case
from soak.users import Asked, asked

_SECONDS = 0.2
"""A run that is expected to take longer isn't played."""
_RESULTS = ("finish_ps", "exposed_ps", "compute_ps", "memory_by_stage", "throughput", "floor")


@dataclass(frozen=True)
class Seen:
    """A run that was played, in which conditions are looked up."""

    run: Asked
    result: Result

    def counts(self, *names: str) -> int:
        """Return so many counters of the run, added up; one that a backend lacks is 0."""
        counts = self.result.metadata["statistics"]
        return sum(int(counts.get(name, 0)) for name in names)

    @cached_property
    def collectives(self) -> list[dict[str, str]]:
        """The rows of collectives.csv, without messages, which no key of a system holds back."""
        rows = self.result.rows("collectives.csv")
        return [row for row in rows if row["end_us"] and row["kind"] != "POINTTOPOINT"]

    @cached_property
    def ports(self) -> list[dict[str, str]]:
        """The rows of switch.csv."""
        return self.result.rows("switch.csv")

    @cached_property
    def network(self) -> NetworkConfig:
        """The network."""
        return parse_network(self.run.network)

    @property
    def loses_nothing(self) -> bool:
        """No frame was lost, no timer ran out."""
        return not self.counts("retransmissions", "timeouts", "lost_frames", "dropped_frames")

    @property
    def is_never_stopped(self) -> bool:
        """No queue was so long that a switch stopped its sender or dropped a frame."""
        return not self.counts("pauses", "dropped_frames")

    @property
    def marks_nothing(self) -> bool:
        """No queue was so long that a switch marked a frame."""
        return not self.counts("marked_frames")

    @property
    def never_queues(self) -> bool:
        """Messages have one packet each, or nothing is marked, and no control goes by delays and finds a queue."""
        transports = plan_network(self.network).transports.values()
        largest = 2 * max(each.packet_wire_bytes for each in transports)
        held = max((int(row["highest_queue_bytes"]) for row in self.ports), default=0)
        waits = held > largest and not all(each.needs_marks for each in transports)
        return self.counts("packets") <= self.parts or (self.marks_nothing and not waits)

    @property
    def parts(self) -> int:
        """Messages, or parts of messages that queue pairs split."""
        splits = getattr(self.network.transport, "queue_pair_use", "") == "split"
        pairs = getattr(self.network.transport, "queue_pairs_per_pair", 1) if splits else 1
        return self.counts("messages") * pairs

    @property
    def has_one_way(self) -> bool:
        """No two ways between hosts are equally short."""
        return not plan_network(self.network).tables.branch

    @property
    def has_one_priority(self) -> bool:
        """Data and answers have one priority."""
        roce = [each for each in self.network.each_transport if isinstance(each, RoceTransport)]
        return {each.ack_priority for each in roce} <= {None, *(each.priority for each in roce)} and not self.counts(
            "cnps"
        )

    @property
    def has_lone_pairs(self) -> bool:
        """No sender has two receivers, so that its queue pairs take no turns."""
        return bool((self.result.flows.groupby("source")["destination"].nunique() <= 1).all())

    @property
    def has_lone_messages(self) -> bool:
        """No two NPUs have two messages."""
        return bool((self.result.flows.groupby(["source", "destination"]).size() <= 1).all())

    @property
    def has_one_dimension(self) -> bool:
        """All NPUs are in one dimension."""
        return len(self.network.dimensions) == 1

    @property
    def plays_in_turn(self) -> bool:
        """No NPU begins a collective before it has ended another."""
        phases: Any = self.result.frame(PHASES)
        phases = phases[phases["collective"].isin([int(row["collective"]) for row in self.collectives])]
        phases = phases.groupby(["npu", "collective"]).agg({"queued_ps": "min", "end_ps": "max"})
        of_npus = (own.sort_values("queued_ps").to_numpy() for _, own in phases.groupby(level="npu"))
        return all(before[1] <= after[0] for own in of_npus for before, after in pairwise(own))

    @property
    def plays_whole(self) -> bool:
        """Each collective is one chunk, and none begins before another has ended."""
        return self.plays_in_turn and all(row["chunks"] == "1" for row in self.collectives)

    @property
    def adds_nothing_up(self) -> bool:
        """No collective reduces, or adding up takes no ns even at a thousandth of the default rate."""
        reduces = any(row["kind"] in ("ALLREDUCE", "REDUCESCATTER") for row in self.collectives)
        return not reduces or self.result.flows["bytes"].max() < _LEAST_REDUCTION

    def plays_none(self, kind: str) -> bool:
        """No collective of a kind is played."""
        return all(row["kind"] != kind for row in self.collectives)


_LEAST_REDUCTION = 500
"""Bytes that an NPU adds up in a ns by a thousandth of the default rate."""
_CONTROL = "congestion_control|window|rate_limited|window_scales_with_rate|minimum_rate|base_rtt(_of)?"


def _plays_none(kind: str) -> Callable[[Seen], bool]:
    return lambda seen: seen.plays_none(kind.replace("_", ""))


MAY_BE_IDLE: tuple[tuple[str, Callable[[Seen], bool], str], ...] = (
    (r"reliability\..*|min_rto|clock_granularity|sack|retries", lambda seen: seen.loses_nothing, "nothing is lost"),
    (
        r"(.*\.)?(buffer|alpha|reserve|headroom|headroom_factor|resume_offset|reference_rate|pfc|nic|priorities)",
        lambda seen: seen.is_never_stopped,
        "no queue is long",
    ),
    (
        r"(.*\.)?(ecn|kmin|kmax|pmax|at|cnp|cnp_interval|cnp_bytes)",
        lambda seen: seen.marks_nothing,
        "nothing is marked",
    ),
    (rf"{_CONTROL}|congestion_control\..*", lambda seen: seen.never_queues, "no control acts"),
    (r"(.*\.)?watchdog", lambda seen: not seen.counts("pause_storms"), "nothing waits so long"),
    (
        r"scheduler\..*|(ack_|cnp_)?priority",
        lambda seen: seen.has_one_priority and seen.is_never_stopped,
        "one priority",
    ),
    (r"round_robin", lambda seen: seen.has_lone_pairs, "queue pairs take no turns"),
    (r"queue_pairs|queue_pairs_per_pair|queue_pair_use", lambda seen: seen.has_lone_messages, "pairs have one message"),
    (r"routing\..*|ecmp|seed|spray|flowlet_gap|pins|weighted", lambda seen: seen.has_one_way, "one way only"),
    (
        r"scheduling-policy|intra-dimension-scheduling|num-queues-per-dim",
        lambda seen: seen.plays_in_turn,
        "nothing waits for another collective",
    ),
    (r"start-jitter", lambda seen: not seen.collectives, "messages begin without it"),
    (r"active-chunks-per-dimension", lambda seen: seen.plays_whole, "no chunk waits for another"),
    (
        r"collective-optimization",
        lambda seen: seen.has_one_dimension or seen.plays_none("ALLREDUCE"),
        "no all-reduce goes along several dimensions, and files of systems serve other networks, too",
    ),
    (r"reduction-bytes-per-ns", lambda seen: seen.adds_nothing_up, "nothing is added up"),
    *(
        (rf"{kind.lower().replace('_', '-')}-implementation", _plays_none(kind), "files of systems serve other loops")
        for kind in ("ALL_REDUCE", "REDUCE_SCATTER", "ALL_GATHER", "ALL_TO_ALL")
    ),
    (r"local-mem-bw", lambda seen: True, "files of systems serve graphs, too"),
    (r"name", lambda seen: True, "it is a label"),
)
"""Keys that may change nothing without a word: a pattern of the last words, what the run shows then, and why."""


def idle_keys(seed: int, folder: Path) -> Found:
    """A key whose value changes by a lot has an effect, or the run warns that it has none."""
    run = _run(seed)
    keys = [*keys_of(run)]
    base, key = _played(run, folder / "base"), keys[seed % len(keys)]
    found = changes_nothing(run, base, key, folder)
    words = [part for part in key[0] if isinstance(part, str)]
    names, seen = (words[-1], ".".join(words[-2:])), Seen(run, base)
    excused = (holds for pattern, holds, _ in MAY_BE_IDLE if any(re.fullmatch(pattern, name) for name in names))
    return [] if found and any(holds(seen) for holds in excused) else found


def _run(seed: int) -> Asked:
    """Return the run of a seed: as a user writes it, or one of the soak's networks."""
    if seed % 2:
        return asked(seed)
    case = usable_case(seed)
    if case is None or case.job["kind"] != "workload" or case.job.get("written"):
        raise NotPlayed("a run of something else than a loop or a model")
    text, options = case.job["text"], dict(case.job["options"])
    options |= {"comm_scale": SHARE * options["comm_scale"], "backend": ("ns3", "flow", "analytical")[seed % 3]}
    return Asked(yaml.safe_load(text) if text.startswith(WORD) else text, case.job["system"], case.network, options)  # type: ignore[arg-type]


def _played(run: Asked, folder: Path) -> Result:
    request = run.request(folder)
    files = request.workload, request.system, request.network
    try:
        if validate(*files, Options(**run.options)).forecast.warm_seconds > _SECONDS:
            raise NotPlayed("it takes long")
        return run.play(folder, output=folder / "out", record=("timeline", "flows"))
    except AstraNs3Error as error:
        raise NotPlayed(str(error)) from error


def changes_nothing(run: Asked, base: Result, key: Key, folder: Path) -> list[str]:
    """Return a line if no other value of a key changes a result, and no run says so."""
    (file, *place), name, kind, value = key
    tried: list[Any] = []
    for other in other_values(name, kind, value):
        changed = replace(run, **{str(file): with_value(getattr(run, str(file)), place, other)})
        try:
            again = _played(changed, folder / str(len(tried)))
        except NotPlayed:
            continue
        if _results(base) != _results(again) or _is_told(
            place, *base.metadata["warnings"], *again.metadata["warnings"]
        ):
            return []
        tried.append(other)
    words = f"{'.'.join(map(str, key[0]))} on {run.options['backend']}: {value!r} and {tried} make one run"
    return [words] if tried else []


def _is_told(place: list[str | int], *warnings: str) -> bool:
    """Return whether a warning names a key, or its group by its path."""
    words = [part for part in place if isinstance(part, str)]
    own = words[-2] if words[-1] == "kind" and words[1:] else words[-1]
    names = (own, *(".".join(words[:count]) for count in range(2, len(words))))
    return any(re.search(rf"\b({'|'.join(map(re.escape, names))})\b", told) for told in warnings)


def _results(result: Result) -> dict[str, Any]:
    numbers = {name: result.metadata.get(name) for name in _RESULTS}
    counts = {name: number for name, number in result.metadata["statistics"].items() if name != "events"}
    files = (path for path in Path(str(result.folder)).iterdir() if path.suffix in (".csv", ".parquet"))
    return numbers | counts | {path.name: path.read_bytes() for path in files}
