"""Whether changes save at most what ``explain`` says: random runs are explained, and played with the change.

    python benchmarks/what_ifs.py [--cases N] [--seed S] [--change NAME ...]

A row for each case: what the change saves of the run's time, at most and as simulated, in percent. Then, for each
change, how many rows saved more than at most, by how much the worst one, and how much less they saved on average.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import flow_error as cases

import astra_ns3
from astra_ns3.report.explanation.explain import explain
from astra_ns3.report.explanation.parts import LINE_RATE, LOSSES, MORE_CREDIT, NO_ACKNOWLEDGEMENTS, OPEN_WINDOW
from astra_ns3.report.explanation.what_ifs import FASTER_LINES, FASTER_NPUS, NO_SLOW_NPUS

_EXACT = 1e-3
Keys = Mapping[str, Any]
SWITCH = {"buffer": "64MiB", "pfc": {}}


def _rates_doubled(value: Any) -> Any:
    """Return a topology whose lines are twice as fast."""
    if isinstance(value, Mapping):
        twice = {"100Gbps": "200Gbps", "400Gbps": "800Gbps"}
        return {key: twice[each] if key == "rate" else _rates_doubled(each) for key, each in value.items()}
    return [_rates_doubled(each) for each in value] if isinstance(value, list) else value


def _without_losses(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_losses(each) for key, each in value.items() if key != "error_rate"}
    return value


def _windows(draw: random.Random, topology: Keys) -> tuple[Keys, Keys]:
    return topology, {"congestion_control": "none", "window": draw.choice([8_192, 20_000, 65_536])}


def _rates(draw: random.Random, topology: Keys) -> tuple[Keys, Keys]:
    return topology, {"congestion_control": draw.choice(["dcqcn", "timely", "hpcc", "dctcp", "swift"])}


def _losses(draw: random.Random, topology: Keys) -> tuple[Keys, Keys]:
    lossy = {**topology, "link": {**topology["link"], "error_rate": draw.choice([1e-5, 1e-4, 5e-4])}}
    kind = draw.choice(["selective-repeat", "go-back-n"])
    return lossy, {"congestion_control": "none", "reliability": {"kind": kind, "timeout": "500us"}}


def _lines(draw: random.Random, topology: Keys) -> tuple[Keys, Keys]:
    return topology, {"congestion_control": draw.choice(["none", "dcqcn", "dctcp", "swift"])}


def _acknowledged(draw: random.Random, topology: Keys) -> tuple[Keys, Keys]:
    acknowledged = {"completion": "acknowledged", "ack_every": draw.choice([1, 16])}
    return topology, {"congestion_control": draw.choice(["none", "dcqcn"]), **acknowledged}


def _credit(draw: random.Random, topology: Keys) -> tuple[Keys, Keys]:
    return _credit_of(topology, draw.choice(["16KiB", "32KiB", "64KiB", "128KiB"])), {"congestion_control": "none"}


def _credit_of(topology: Keys, size: str) -> Keys:
    """Return a topology whose switches give so much credit."""
    return {**topology, "switch": {"buffer": "1GiB", "credits": {"bytes": size}}}


Made = Callable[[random.Random, Keys], tuple[Keys, Keys]]
Changed = Callable[[Keys, Keys], tuple[Keys, Keys]]
CHANGES: Mapping[str, tuple[str, Made, Changed]] = {
    "window": (OPEN_WINDOW, _windows, lambda one, two: (one, {**two, "window": "none"})),
    "rate": (LINE_RATE, _rates, lambda one, two: (one, {**two, "congestion_control": "none"})),
    "losses": (LOSSES, _losses, lambda one, two: (_without_losses(one), two)),
    "lines": (FASTER_LINES, _lines, lambda one, two: (_rates_doubled(one), two)),
    "lines-with-a-window": (FASTER_LINES, _windows, lambda one, two: (_rates_doubled(one), two)),
    "credit": (MORE_CREDIT, _credit, lambda one, two: (_credit_of(one, "32MiB"), two)),
    "lines-by-credit": (FASTER_LINES, _credit, lambda one, two: (_rates_doubled(one), two)),
    "acknowledgements": (NO_ACKNOWLEDGEMENTS, _acknowledged, lambda one, two: (one, {**two, "completion": "arrival"})),
}


def _topology(draw: random.Random) -> Keys:
    link = {"rate": draw.choice(["100Gbps", "400Gbps"]), "delay": draw.choice(["500ns", "2us"])}
    shape = draw.choice(
        [
            cases.star(8, SWITCH),
            cases.clos(2, draw.choice([1, 2, 4]), 4, SWITCH) | {"uplink": link},
            {"kind": "dumbbell", "left": 4, "right": 4, "bottleneck": link, "switch": SWITCH},
        ]
    )
    return {**shape, "link": link}


def _play(topology: Keys, transport: Keys, work: str, system: Keys, folder: Path, **options: Any) -> Any:
    network = {"topology": topology, "transport": {"kind": "roce", "payload": 4096, **transport}}
    folder.mkdir()
    for name, text in (("n.yaml", json.dumps(network)), ("s.yaml", json.dumps(system)), ("w.txt", work)):
        (folder / name).write_text(text, encoding="utf-8")
    files = {"workload": folder / "w.txt", "system": folder / "s.yaml", "network": folder / "n.yaml"}
    return astra_ns3.run(**files, isolated=True, **options)


def shares(name: str, number: int, seed: int) -> tuple[float, float]:
    """Return what a change saves of a random case's time, as predicted and as simulated."""
    words, made, changed = CHANGES[name]
    draw = random.Random(f"{seed} {name} {number}")
    topology, transport = made(draw, _topology(draw))
    kind = draw.choice(["ALLREDUCE", "ALLGATHER", "ALLTOALL"])
    work = cases.collective(kind, round(2 ** draw.uniform(18, 22)))
    chunks = {"active-chunks-per-dimension": draw.choice([1, 4])}
    system = {**cases.USUAL, **chunks, **cases.algorithm(draw.choice(["ring", "direct"])), **cases.direct(4)}
    with tempfile.TemporaryDirectory() as folder:
        record = {"record": ("timeline", "accounts"), "output": Path(folder) / "out"}
        before = _play(topology, transport, work, system, Path(folder) / "before", **record)
        after = _play(*changed(topology, transport), work, system, Path(folder) / "after")
        told = sum(each.time_ps for each in explain(before).what_ifs if each.change == words)
    return told / before.finish_ps, 1 - after.finish_ps / before.finish_ps


def _model_network(rate_gbps: int, times: int = 1) -> Keys:
    """Return two servers of four NPUs; ``times``: so many times as fast are all lines."""
    nic = {"rate": f"{rate_gbps * times}Gbps", "delay": "1us"}
    scale_up = {"link": {"rate": f"{2400 * times}Gbps", "delay": "100ns"}, "switch": SWITCH}
    outside = {"kind": "leaf-spine", "leaves": 1, "spines": 1, "hosts_per_leaf": 8, "switch": SWITCH}
    outside |= {"link": nic, "uplink": nic}
    topology = {"kind": "hierarchical", "nodes": 2, "npus_per_node": 4, "scale_up": scale_up, "scale_out": outside}
    return {"topology": topology, "transport": {"kind": "roce", "payload": 4096}}


def _model(draw: random.Random) -> Keys:
    """Return a small transformer, whose computing collectives slow."""
    shape = {"layers": draw.choice([2, 4, 6]), "hidden": draw.choice([512, 1024, 2048])}
    shape |= {"heads": 16, "kv_heads": 4, "gated": True, "vocabulary": draw.choice([8000, 32000])}
    training = {"sequence": draw.choice([1024, 2048]), "micro_batch": draw.choice([1, 2]), "datatype": "bfloat16"}
    training |= {"micro_batches": draw.choice([1, 2, 4])}
    parallel = {"zero": draw.choice([0, 1, 2, 3]), "tensor": draw.choice([1, 1, 2]), "context": draw.choice([1, 1, 2])}
    if draw.choice([True, False, False]):
        parallel["expert"] = 2
        shape["experts"] = {"count": 8, "active": 2, "feed_forward": draw.choice([512, 1024])}
    keys = {"kind": "transformer", "name": "small", "compute": "H100"}
    return {**keys, "model": shape, "training": training, "parallel": parallel}


def shares_of_models(name: str, number: int, seed: int) -> tuple[float, float]:
    """Return the same as :func:`shares` of a random model, played with flows."""
    words = MODELS[name]
    draw = random.Random(f"{seed} models {number}")
    model, rate_gbps = _model(draw), draw.choice([100, 200, 400])
    slow = {"stragglers": [{"npus": [draw.randrange(8)], "factor": draw.choice([1.2, 1.5, 2])}]}
    is_slow = draw.choice([True, False, False]) or words == NO_SLOW_NPUS
    slowdown = {"compute_slowdown": slow} if is_slow else {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "m.yaml").write_text(json.dumps(model), encoding="utf-8")

        def played(times: int = 1, **options: Any) -> Any:
            (folder / "n.yaml").write_text(json.dumps(_model_network(rate_gbps, times)), encoding="utf-8")
            files = {"workload": folder / "m.yaml", "system": cases.INPUTS / "system/hier.txt"}
            return astra_ns3.run(**files, network=folder / "n.yaml", backend="flow", isolated=True, **options)

        before = played(record=("timeline", "accounts"), output=folder / "out", **slowdown)
        after = {
            FASTER_LINES: lambda: played(2, **slowdown),
            FASTER_NPUS: lambda: played(compute_scale=0.5, **slowdown),
            NO_SLOW_NPUS: played,
        }[words]()
        told = sum(each.time_ps for each in explain(before).what_ifs if each.change == words)
    return told / before.finish_ps, 1 - after.finish_ps / before.finish_ps


MODELS: Mapping[str, str] = {"models": FASTER_LINES, "models-npus": FASTER_NPUS, "models-slow": NO_SLOW_NPUS}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--change", nargs="+", choices=[*CHANGES, *MODELS], default=[*CHANGES, *MODELS])
    asked = parser.parse_args()
    for name in asked.change:
        pairs = []
        for number in range(asked.cases):
            played = shares_of_models if name in MODELS else shares
            pairs.append(played(name, number, asked.seed))
            print(f"{name} {number}: at most {pairs[-1][0]:.1%}, simulated {pairs[-1][1]:.1%}", flush=True)
        above = [true - told for told, true in pairs if told] or [0.0]  # others have no row
        words = MODELS[name] if name in MODELS else CHANGES[name][0]
        more = sum(each > _EXACT for each in above)
        least, mean = max(above), -statistics.mean(above)
        print(f"{words}: {more} of {len(above)} rows saved more, {least:+.1%} at most; {mean:.1%} less on average")


if __name__ == "__main__":
    main()
