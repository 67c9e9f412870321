"""Figures of papers on shared and failing clusters, played small: docs/tables/cluster-papers.csv.

    python benchmarks/cluster_papers.py [--case optcc|crux|reps|irn ...]

Each is known from an abstract or a summary alone, so nothing is fitted and no figure is a bar. All play on packets.

* OptCC (arXiv 2606.01680): a ring slows down by up to 57% when the NICs of one server keep at least half of their rate.
* Crux (SIGCOMM 2024): beside BERT, GPT's iteration takes 11% longer; job priorities give most of it back.
* REPS (arXiv 2407.21625): senders avoid a failed link within 100 us.
* IRN (Mittal et al., SIGCOMM 2018): without PFC, 6 to 83% better than RoCE with PFC.
"""

from __future__ import annotations

import argparse
import csv
import logging
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import astra_ns3
from astra_ns3.config.network.packet_network import parse_network

INPUTS = Path(__file__).resolve().parents[1] / "inputs"
SYSTEM = str(INPUTS / "system/flat.txt")
MODELS = INPUTS / "workload/models"
US = 10**6
RING_MEBIBYTES = (1, 16, 64)
Row = tuple[str, str, str, str]


def text(name: str, byte_count: int) -> Mapping[str, Any]:
    """Keys of a job that all-reduces ``byte_count`` bytes once."""
    return {
        "name": name,
        "workload": str(INPUTS / "workload/micro-all-reduce.txt"),
        "system": SYSTEM,
        "set": {"workload.layers.0.weight_gradient.bytes": f"{byte_count}B"},
    }


def played(scenario: Mapping[str, Any], network: Mapping[str, Any], **options: Any) -> Any:
    """Play a scenario's keys on a network's; options as of run_scenario."""
    return astra_ns3.run_scenario(scenario=scenario, network=parse_network(network), isolated=False, **options)


def optcc() -> Iterator[Row]:
    """A ring of 16 servers, one of which has NICs at a share of their rate."""
    topology = {"kind": "single-switch", "npus": 16, "link": {"rate": "400Gbps", "delay": "1us"}}
    network = {"topology": {**topology, "switch": {"buffer": "32MB", "pfc": {}}}, "transport": {"kind": "roce"}}
    for mebibytes in RING_MEBIBYTES:
        times = {}
        for rate in (100, 87.5, 75, 50):
            events = [{"at": "0ns", "nic": 3, "rate": f"{rate}%"}] if rate < 100 else []
            result = played({"jobs": [text("ring", mebibytes << 20)], "events": events}, network)
            times[rate] = result.tenants["ring"].finish_ps
        for rate in (87.5, 75, 50):
            paper = "up to +57%" if rate == 50 else "+14% (1 of 8 NICs lost: -12.5%)" if rate == 87.5 else ""
            yield "OptCC", f"{mebibytes} MiB, one server at {rate}%", paper, f"{times[rate] / times[100] - 1:+.1%}"


def crux() -> Iterator[Row]:
    """GPT beside BERT on uplinks that carry a quarter of what hosts send; priorities on strict ports."""
    link = {"rate": "100Gbps", "delay": "500ns"}
    switch = {"buffer": "8MB", "pfc": {"priorities": [3, 5]}, "scheduler": {"kind": "strict"}}
    topology = {
        "kind": "leaf-spine",
        "leaves": 4,
        "spines": 2,
        "hosts_per_leaf": 8,
        "oversubscription": 4,
        "link": link,
    }
    network = {"topology": {**topology, "switch": switch}, "transport": {"kind": "roce"}}
    gpt = {"workload.model.layers": 1, "workload.parallel.tensor": 1, "workload.parallel.pipeline": 1}
    gpt |= {"workload.parallel.sequence": False, "workload.training.micro_batches": 1, "workload.model.hidden": 2048}
    gpt |= {"workload.model.heads": 16}

    def job(name: str, model: str, keys: Mapping[str, Any], **others: Any) -> Mapping[str, Any]:
        place = {"place": "spread", "count": 16}
        return {"name": name, "workload": str(MODELS / model), "system": SYSTEM, "npus": place, "set": keys} | others

    def both(priorities: bool, beside: bool) -> float:
        first = job("gpt", "gpt-3-175b.yaml", gpt, passes=4, **({"priority": 5} if priorities else {}))
        second = job("bert", "bert-large.yaml", {"workload.model.layers": 2}, passes="forever")
        jobs = [first, second] if beside else [first]
        result = played({"jobs": jobs}, network, scale=0.02)
        return float(result.tenants["gpt"].finish_ps)

    alone = both(False, False)
    yield "Crux", "GPT beside BERT", "+11.0%", f"{both(False, True) / alone - 1:+.1%}"
    yield "Crux", "the same, GPT with priority", "", f"{both(True, True) / alone - 1:+.1%}"


def reps() -> Iterator[Row]:
    """A flow over one of eight spines: when it is back at full rate after its link has gone silent."""
    fails_ps, messages, byte_count = 200 * US, 1_000, 10_000
    link = {"rate": "100Gbps", "delay": "500ns"}
    topology = {"kind": "leaf-spine", "leaves": 2, "spines": 8, "hosts_per_leaf": 1, "link": link}
    ways: Mapping[str, tuple[Mapping[str, Any], int, str]] = {
        "a new path after each timeout of 20 us": ({"kind": "ecmp"}, 1, "20us"),
        "a new path after each timeout of 100 us": ({"kind": "ecmp"}, 1, "100us"),
        "no new path, routes converge after 5 ms": ({"kind": "ecmp"}, 0, "100us"),
    }
    for words, (routing, after, timeout) in ways.items():
        reliability = {"kind": "selective-repeat", "timeout": timeout, "retries": 0, "new_path_after": after}
        transport = {"kind": "roce", "congestion_control": "none", "window": "200KB", "reliability": reliability}
        network = {"topology": {**topology, "switch": {"buffer": "1GB"}, "routing": routing}, "transport": transport}
        silent = []
        for spine in range(8):
            scenario = {
                "jobs": [{"name": "flow", "workload": str(flows(messages, byte_count)), "system": SYSTEM}],
                "events": [{"at": f"{fails_ps}ps", "link": [f"spine {spine}", "leaf 1"], "up": False}],
                "recovery": {"routes": {"kind": "converge", "after": "5ms"}},
            }
            ends = played(scenario, network, record=["flows"]).tenants["flow"].flows["end_ps"].to_numpy()
            silent.append(int(np.diff(np.sort(ends)).max()))
        yield "REPS", words, "100 us", f"silent for {max(silent) / US:.0f} us"


def flows(messages: int, byte_count: int) -> Path:
    """A file of flows from host 0 to host 1."""
    path = Path(astra_ns3.__file__).parents[1] / "build" / "cluster-papers.csv"
    path.parent.mkdir(exist_ok=True)
    rows = "".join(f"0,1,{byte_count},0ns\n" for _ in range(messages))
    path.write_text(f"source,destination,bytes,start\n{rows}", encoding="utf-8")
    return path


def irn() -> Iterator[Row]:
    """Web-search flows at 70% on a fat tree of 128 hosts: go-back-N with PFC, selective repeat without."""
    link = {"rate": "40Gbps", "delay": "2us"}
    for control in ("none", "dcqcn", "timely"):
        slow = {}
        for name, lossless in (("RoCE", True), ("IRN", False)):
            switch: dict[str, Any] = {"buffer": "2MB"} | ({"pfc": {}} if lossless else {})
            if control == "dcqcn":
                switch["ecn"] = {"kmin": "40KB", "kmax": "160KB", "pmax": 0.2}
            kind = {"kind": "go-back-n"} if lossless else {"kind": "selective-repeat", "timeout": "320us"}
            transport = {"kind": "roce", "payload": 1000, "queue_pairs": "per-message", "reliability": kind}
            transport |= {"congestion_control": control} | ({} if lossless else {"window": "bdp"})
            if not lossless and control == "none":
                transport["congestion_control"] = "static-window"
            topology = {"kind": "fat-tree", "k": 8, "link": link, "switch": switch}
            traffic = {"name": "web", "kind": "poisson", "sizes": "web-search", "load": 0.7, "flows": 2000, "seed": 1}
            result = played({"traffic": [traffic]}, {"topology": topology, "transport": transport}, record=["flows"])
            slow[name] = float(result.tenants["web"].completions.eval("(end_ps - start_ps) / ideal_ps").mean())
        yield "IRN", f"mean slowdown, control {control}", "6 to 83% less", f"{slow['IRN'] / slow['RoCE'] - 1:+.0%}"


CASES: Mapping[str, Callable[[], Iterator[Row]]] = {"optcc": optcc, "crux": crux, "reps": reps, "irn": irn}


def main(arguments: Sequence[str] | None = None) -> None:
    """Play the cases and print a row for each."""
    logging.disable()  # of flows that wait for others on one queue pair, as they should here
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", choices=sorted(CASES), nargs="+", default=list(CASES))
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(("Paper", "Case", "Published", "Here"))
    for name in parser.parse_args(arguments).case:
        for row in CASES[name]():
            writer.writerow(row)
            sys.stdout.flush()


if __name__ == "__main__":
    main()
