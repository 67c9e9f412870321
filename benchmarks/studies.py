"""What playing a study's points costs beyond their simulations; prints one JSON line.

``warm_up``: a server, from its start until it can fork. ``points``: for a tiny run of each transport, with output to a
folder, the median over some points of what one takes beyond its simulation, wall time and CPU time of all processes.
With ``--workers``: the wall time of one study by one worker and by two, start of everything included; some minutes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import resource
import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from astra_ns3.config.network.file import read_network_file
from astra_ns3.experiments.request import RunRequest
from astra_ns3.experiments.result import Result
from astra_ns3.experiments.servers.messages import ServerKind
from astra_ns3.experiments.servers.pool import ServerPool
from astra_ns3.experiments.servers.warm_server import WarmServer
from astra_ns3.studies.play_point import play_point
from astra_ns3.studies.playing import play_tasks
from astra_ns3.studies.store import Store
from astra_ns3.studies.task import PointTask
from astra_ns3.system.file import read_system
from astra_ns3.workload.files.astra_sim import read_workload

INPUTS = Path(__file__).resolve().parent.parent / "inputs"
ROUNDS = 11
STUDY_POINTS = 24
STUDY_COMM_SCALE = 10
"""Points of about five seconds, as those of the studies that come with the program."""
NETWORKS = {"tcp": "single-switch-16.yaml", "roce": "roce-16.yaml"}


def request(network: str, **more: Any) -> RunRequest:
    return RunRequest(
        workload=read_workload(INPUTS / "workload/micro-all-reduce.txt"),
        system=read_system(INPUTS / "system/flat.yaml"),
        network=read_network_file(INPUTS / "network" / network).network,
        **more,
    )


def tasks(asked: RunRequest, count: int, store: Store) -> list[PointTask]:
    """So many points that differ in their seed."""
    seeds = range(1, count + 1)
    addresses = (hashlib.sha256(f"{seed} {asked.network!r}".encode()).hexdigest() for seed in seeds)
    folder = str(store.folder)
    return [
        PointTask(address, replace(asked, seed=seed), folder) for seed, address in zip(seeds, addresses, strict=True)
    ]


def warm_up() -> dict[str, float]:
    begun = time.perf_counter()
    server = WarmServer(ServerKind())
    server.wait_until_warm()
    seconds = time.perf_counter() - begun
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    server.close()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"wall_seconds": round(seconds, 2), "cpu_seconds": round(cpu_seconds, 2)}


def points(network: str) -> dict[str, float]:
    """Medians; the first point, which loads what writes files, is left out."""
    walls, cpus = [], []
    pool = ServerPool()
    with tempfile.TemporaryDirectory() as folder:
        store = Store(folder)
        for task in tasks(request(NETWORKS[network], comm_scale=1e-3), ROUNDS + 1, store):
            before, begun = time.process_time(), time.perf_counter()
            outcome = play_point(task, pool)
            seconds, here = time.perf_counter() - begun, time.process_time() - before
            assert outcome.status == "done", outcome.error
            simulated = Result.load(store.point_folder(task.address)).metadata["timing"]["simulation_seconds"]
            walls.append(seconds - simulated)
            cpus.append(here + outcome.cost["cpu_seconds"])
    pool.close()
    return {
        "overhead_wall_seconds": round(statistics.median(walls[1:]), 3),
        "cpu_seconds": round(statistics.median(cpus[1:]), 3),
    }


def study_seconds(jobs: int, count: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        store = Store(folder)
        begun = time.perf_counter()
        asked = tasks(request(NETWORKS["tcp"], comm_scale=STUDY_COMM_SCALE), count, store)
        outcomes = play_tasks(asked, store=store, jobs=jobs)
        assert {outcome.status for outcome in outcomes.values()} == {"done"}
        return time.perf_counter() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", action="store_true", help="compare two workers with one")
    parser.add_argument("--points", type=int, default=STUDY_POINTS, help="of the study that they play")
    arguments = parser.parse_args()
    found: dict[str, Any] = {"warm_up": warm_up(), "points": {network: points(network) for network in NETWORKS}}
    if arguments.workers:
        seconds = {jobs: study_seconds(jobs, arguments.points) for jobs in (1, 2)}
        found["workers"] = {
            "one_seconds": round(seconds[1], 2),
            "two_seconds": round(seconds[2], 2),
            "share": round(seconds[2] / seconds[1], 3),
        }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
