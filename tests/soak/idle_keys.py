"""Whether each key of a run's files has an effect, or the run says that it has none."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from astra_ns3.errors import AstraNs3Error
from astra_ns3.experiments.options import Options
from astra_ns3.experiments.result import Result
from astra_ns3.experiments.validate import validate
from soak.keys import Key, keys_of, other_values, with_value
from soak.models import WORD
from soak.relations import SHARE, Found, NotPlayed, usable_case
from soak.users import Asked, asked

_SECONDS = 0.2
"""A run that is expected to take longer isn't played."""
_RESULTS = ("finish_ps", "exposed_ps", "compute_ps", "memory_by_stage", "throughput", "floor")
_LOSSES = ("retransmissions", "timeouts", "lost_frames", "dropped_frames")
MAY_BE_IDLE: tuple[tuple[str, tuple[str, ...], str], ...] = (
    (r"reliability|timeout|retries|rto|sack|retransmit|segment|clock_granularity", _LOSSES, "nothing is lost"),
    (r"buffer|alpha|reserve|headroom|pfc|nic|credits", ("dropped_frames", "pauses"), "no queue is long"),
    (r"ecn|cnp|congestion_control|_rate|rate_|window|base_rtt|telemetry", ("marked_frames",), "nobody is congested"),
    (r"congestion_control|window|_rate|base_rtt", (), "the control moves nothing so far: no queue lasts"),
    (r"watchdog|timer|storm", ("pause_storms",), "nothing waits so long"),
    (r"round_robin|priority|scheduler|kind|ecmp|seed|pins|spray|gap|queue_pair", (), "packets keep their order or way"),
    (r"scheduling|chunks|queues|splits|jitter", (), "chunks keep their order: nothing else waits"),
    (r"minimum|bucket|link\.(rate|delay)", (), "it isn't what limits: a layer alone has more, or another line less"),
    (r"scale_|uplink|spine|level|group|core|aggregation", (), "another part of the network is what limits"),
    (r"optimization", (), "files of systems have it for networks of several dimensions, too"),
    (r"efficiency|device|reduction|local-mem|implementation", (), "nothing of the kind is done, or it takes no time"),
    (r"name", (), "it is a label"),
)
"""Keys that may change nothing without a word: a pattern, the counts that have to be 0 then, and why."""


def idle_keys(seed: int, folder: Path) -> Found:
    """A key whose value changes by a lot has an effect, or the run warns that it has none."""
    run = _run(seed)
    keys = [*keys_of(run)]
    base, key = _played(run, folder / "base"), keys[seed % len(keys)]
    counts, name = base.metadata["statistics"], ".".join(map(str, key[0]))
    for pattern, names, _ in MAY_BE_IDLE:
        if re.search(pattern, name) and not any(counts.get(each) for each in names):
            return []
    return changes_nothing(run, base, key, folder)


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
