"""Random runs as users ask for them: three files and some options, and changes of them that are made by hand."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from shutil import copy as copy_file
from typing import Any

import yaml

from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.experiments.request import RunRequest
from astra_ns3.experiments.result import Result
from astra_ns3.experiments.run import execute
from astra_ns3.report.explanation.parts import LINE_RATE, LOSSES, NO_ACKNOWLEDGEMENTS, OPEN_WINDOW
from astra_ns3.report.explanation.what_ifs import FASTER_LINES, FASTER_NPUS, LOST, NO_DELAYS, NO_SLOW_NPUS
from astra_ns3.report.summary import run_text
from astra_ns3.units import parse_rate
from soak import models
from soak.case import REPOSITORY
from soak.draw import Draw
from soak.jobs import draw_workload
from soak.topologies import KINDS, Parts
from soak.transports import draw_tcp

Drawn = dict[str, Any]
SWITCH = {"buffer": "64MiB", "pfc": {}}
CREDIT = {"buffer": "1GiB", "credits": {"bytes": "64KiB"}}
USUAL = ("single-switch", "leaf-spine", "fat-tree", "clos", "hierarchical", "rail-optimised")
OTHER = ("ring", "torus", "dragonfly", "full-mesh", "dumbbell")
CONTROLS = ("none", "dcqcn", "dctcp", "hpcc", "swift", "timely")
BACKENDS = {"ns3": 4, "flow": 4, "analytical-queues": 1, "analytical": 1}
BUDGET_BYTES = 3_000_000
MOST_NPUS = 16
DIGITS = 6e-4
"""What rounding to four digits may be off by."""
UNITS = {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12}
TIMES = re.compile(r"(?<![\w.])([\d,.]+) (ps|ns|us|ms|s)(?!\w)")
Faults = Iterator[str]


@dataclass(frozen=True)
class Asked:
    """A run: what its files say, and its options. ``work``: a model's keys, or the text of a loop."""

    work: Drawn | str
    system: Drawn
    network: Drawn
    options: Drawn = field(default_factory=dict)

    def request(self, folder: Path, **more: Any) -> RunRequest:
        """Write the files into ``folder``, and ask for their run in this process."""
        folder.mkdir(parents=True, exist_ok=True)
        work = folder / ("workload.txt" if isinstance(self.work, str) else "workload.yaml")
        work.write_text(self.work if isinstance(self.work, str) else json.dumps(self.work), encoding="utf-8")
        for table in (REPOSITORY / "inputs" / "workload" / "models").glob("*.csv"):
            copy_file(table, folder)
        for name, keys in (("system", self.system), ("network", self.network)):
            (folder / f"{name}.yaml").write_text(json.dumps(keys), encoding="utf-8")
        files = {"workload": work, "system": folder / "system.yaml", "network": folder / "network.yaml"}
        asked: dict[str, Any] = {**files, "isolated": False, **self.options, **more}
        return RunRequest(**asked)

    def play(self, folder: Path, **more: Any) -> Result:
        """Play it; raises what stops it."""
        outcome = execute(self.request(folder, **more), aloud=False)
        if outcome.error is not None:
            raise outcome.error
        return outcome.result


def asked(seed: int) -> Asked:
    """The run of a seed: a model or a loop, on a usual network, on any backend."""
    draw = Draw(f"told {seed}")
    topology = _topology(draw)
    transport = draw_tcp(draw) if draw.chance(0.15) else _roce(draw)
    network = {"topology": topology, "transport": transport}
    config = parse_network(network)
    job = draw_workload(draw, config.dimensions, config.bandwidths, BUDGET_BYTES)
    options = {key: value for key, value in job["options"].items() if key != "compat"}
    system = job["system"] | draw.some(0.1, **{"endpoint-delay": 0})
    work: Drawn | str = job["text"]
    if draw.chance(0.5):
        work, options = _model(draw, config.dimensions), draw.some(0.2, passes=2)
        system = _rings(draw, len(config.dimensions))
    elif job["text"].startswith(models.WORD):
        work = yaml.safe_load(job["text"])
    if draw.chance(0.15):
        system = {"collectives": "nccl", "scheduling-policy": "LIFO"}
    slow = {"npus": [draw.randrange(config.npus)], "factor": draw.pick(1.2, 2)}
    options |= draw.some(0.15, compute_slowdown={"stragglers": [slow]})
    return Asked(work, system, network, {**options, "backend": draw.weighted(BACKENDS)})


def _topology(draw: Draw) -> Drawn:
    while True:
        parts = Parts(draw, draw.pick(0.0, 0.0, 0.0, 0.0, 1e-4))
        kind = draw.pick(*USUAL) if draw.chance(0.8) else draw.pick(*OTHER)
        made = {"kind": kind, **KINDS[kind](draw, parts)}
        switch = CREDIT if kind in USUAL and draw.chance(0.1) else {**SWITCH, **draw.some(0.3, cut_through=64)}
        for place in parts.places:
            place |= switch
        if parse_network({"topology": made, "transport": {"kind": "roce"}}).npus <= MOST_NPUS:
            return made


def _roce(draw: Draw) -> Drawn:
    made: Drawn = {"kind": "roce", "payload": draw.pick(1024, 4096), "congestion_control": draw.pick(*CONTROLS)}
    made |= draw.some(0.2, completion="acknowledged", window=draw.pick("8KB", "64KB", "bdp"))
    return made | draw.some(0.1, congestion_control="static-window")


def _rings(draw: Draw, dimensions: int) -> Drawn:
    name = draw.pick("ring", "ring", "direct")
    halves = {f"{kind}-implementation": [name] * dimensions for kind in ("all-reduce", "reduce-scatter", "all-gather")}
    chunks = {"preferred-dataset-splits": draw.pick(1, 4), "active-chunks-per-dimension": draw.pick(1, 2, 4)}
    made = {"scheduling-policy": draw.pick("LIFO", "FIFO"), **chunks, **halves}
    made["all-to-all-implementation"] = ["direct"] * dimensions
    return made | draw.some(0.4, **{"endpoint-delay": draw.pick(10, 700), "collective-optimization": "localBWAware"})


def _model(draw: Draw, dimensions: tuple[int, ...]) -> Drawn:
    """A transformer of the soak, large enough to compute for a while on an H100."""
    made = models.MODELS["transformer"](draw, dimensions)
    model, times = made["model"], draw.pick(4, 16)
    model |= {"hidden": times * model["hidden"], "vocabulary": 16 * model["vocabulary"]}
    if "experts" in model:
        model["experts"]["feed_forward"] *= times
    made["training"]["sequence"] *= draw.pick(4, 16)
    return {**made, "compute": draw.pick("H100", "A100-80GB"), "name": "told"}


def faster_lines(asked: Asked) -> Asked:
    """The run on lines twice as fast."""
    return replace(asked, network=_changed(asked.network, "rate", lambda rate: 2 * parse_rate(rate)))


def _with(keys: Mapping[str, Any]) -> Callable[[Asked], Asked]:
    def changed(asked: Asked) -> Asked:
        network = {**asked.network, "transport": {**asked.network["transport"], **keys}}
        return replace(asked, network=network)

    return changed


def _faster_npus(asked: Asked) -> Asked:
    return replace(asked, options={**asked.options, "compute_scale": asked.options.get("compute_scale", 1) / 2})


def _never_closing(asked: Asked) -> Asked:
    transport = asked.network["transport"]
    if transport["kind"] == "tcp":
        return _with({"window": "16MB"})(asked)
    windows = transport["congestion_control"] == "static-window"
    return _with({"window": "none", **({"congestion_control": "none"} if windows else {})})(asked)


def _at_line_rate(asked: Asked) -> Asked:
    by_window = asked.network["transport"].get("congestion_control") in ("dctcp", "swift")
    return _with({"congestion_control": "none", **({"window": "none"} if by_window else {})})(asked)


_NO_DELAYS = {"endpoint-delay": 0, "start-jitter": 0, "reduction-bytes-per-ns": 10**12}
CHANGES: Mapping[str, Callable[[Asked], Asked]] = {
    FASTER_LINES: faster_lines,
    FASTER_NPUS: _faster_npus,
    NO_SLOW_NPUS: lambda asked: replace(
        asked, options={key: value for key, value in asked.options.items() if key != "compute_slowdown"}
    ),
    NO_DELAYS: lambda asked: replace(asked, system={**asked.system, **_NO_DELAYS}),
    OPEN_WINDOW: _never_closing,
    LINE_RATE: _at_line_rate,
    LOSSES: lambda asked: replace(asked, network=_changed(asked.network, "error_rate", lambda _: 0)),
    NO_ACKNOWLEDGEMENTS: _with({"completion": "arrival"}),
}
"""The rows of ``explain`` that a user can make true, and how."""


def _changed(value: Any, key: str, change: Callable[[Any], Any]) -> Any:
    """A copy of files' keys, with every value of a key changed."""
    if isinstance(value, Mapping):
        return {each: change(more) if each == key else _changed(more, key, change) for each, more in value.items()}
    return [_changed(each, key, change) for each in value] if isinstance(value, list) else copy.copy(value)


@dataclass(frozen=True)
class Told:
    """A run that was asked for by files in ``folder``, its result, and what draws further."""

    asked: Asked
    result: Result
    folder: Path
    draw: Draw

    @property
    def metadata(self) -> Mapping[str, Any]:
        """run.json."""
        return self.result.metadata

    @cached_property
    def summary(self) -> dict[str, str]:
        """The rows that the command prints at the end."""
        text = run_text(self.result.metadata, self.result.folder)
        return {row[0]: row[1] for row in (re.split(r"  +", line, maxsplit=1) for line in text.splitlines()) if row[1:]}

    @cached_property
    def faster(self) -> Result:
        """The run on lines twice as fast, recorded as this one."""
        return self.changed(FASTER_LINES, output=self.folder / "faster-out", record=self.result.metadata["record"])

    def changed(self, words: str, **more: Any) -> Result:
        """Return the run with a change made by hand."""
        return CHANGES[words](self.asked).play(self.folder / re.sub(r"\W", "-", words), **more)

    @property
    def loses(self) -> bool:
        """Whether timers or losses decide times."""
        names = (*LOST, "timeouts", "retransmissions", "out_of_order_packets")
        return any(self.metadata["statistics"].get(name) for name in names)

    @property
    def trains_transformer(self) -> bool:
        """Whether the workload is a transformer's file."""
        return not isinstance(self.asked.work, str) and self.asked.work["kind"] == "transformer"


def ps_of(number: str, unit: str) -> int:
    """Return a printed time in ps."""
    return round(float(number.replace(",", "")) * UNITS[unit])


def bytes_of(number: str, unit: str) -> float:
    """Return a printed size in bytes."""
    return float(number) * 1000.0 ** ("B", "KB", "MB", "GB", "TB").index(unit)


def near(shown: float, true: float, unit: float = 0) -> bool:
    """Whether a number of four digits, or of whole units, is a true one."""
    return abs(shown - true) <= max(DIGITS * abs(true), unit)


def share_of(text: str) -> float:
    """Return the first printed percentage."""
    found = re.search(r"(\d+(?:\.\d+)?)%", text)
    return float(found[1]) if found else 0.0


def samples_of(work: Mapping[str, Any], npus: int) -> int:
    """Return the samples of a transformer's iteration: those of each micro-batch, in each copy of the model."""
    parallel, training = work["parallel"], work["training"]
    cut = parallel.get("tensor", 1) * parallel.get("context", 1) * parallel.get("pipeline", 1)
    copies = (npus - parallel.get("servers", 0)) // cut
    return int(training.get("micro_batch", 1) * training["micro_batches"] * copies)
