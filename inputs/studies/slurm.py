"""Plays a study on a Slurm cluster: python slurm.py STUDY.yaml FOLDER. FOLDER is on a shared disk.

Needs dask-jobqueue and cryptography, which makes the keys of TLS: other users of the cluster can reach the scheduler's
port, and without a key of this study's nobody gets in. The keys lie in FOLDER meanwhile, for you alone to read. Change
the numbers below to what your cluster gives; a worker plays one point at a time on one core.
"""

import sys
from pathlib import Path

from dask_jobqueue import SLURMCluster

import astra_ns3

WORKERS_PER_JOB = 32
MOST_JOBS = 8

if __name__ == "__main__":
    file, folder = sys.argv[1:]
    Path(folder).mkdir(parents=True, exist_ok=True)
    cluster = SLURMCluster(
        queue="normal",
        cores=WORKERS_PER_JOB,
        processes=WORKERS_PER_JOB,
        memory="128GB",
        walltime="12:00:00",
        worker_extra_args=["--nthreads", "1", "--dashboard-address", "127.0.0.1:0"],
        scheduler_options={"dashboard_address": "127.0.0.1:0"},
        security=True,
        shared_temp_directory=str(Path(folder).absolute()),
    )
    cluster.adapt(minimum_jobs=1, maximum_jobs=MOST_JOBS)
    with cluster:
        result = astra_ns3.study(
            file, output=folder, preset="paper", scheduler=cluster.scheduler_address, security=cluster.security
        )
    print(result.frame)
    if len(result.failed):
        sys.exit(f"{len(result.failed)} points failed; see {result.folder}/index.html")
