"""Plays a study on a Slurm cluster: python slurm.py STUDY.yaml FOLDER. Needs dask-jobqueue; FOLDER is on a shared disk.

Change the numbers below to what your cluster gives; a worker plays one point at a time on one core.
"""

import sys

from dask_jobqueue import SLURMCluster

import astra_ns3

WORKERS_PER_JOB = 32
MOST_JOBS = 8

if __name__ == "__main__":
    file, folder = sys.argv[1:]
    cluster = SLURMCluster(
        queue="normal",
        cores=WORKERS_PER_JOB,
        processes=WORKERS_PER_JOB,
        memory="128GB",
        walltime="12:00:00",
        worker_extra_args=["--nthreads", "1"],
    )
    cluster.adapt(minimum_jobs=1, maximum_jobs=MOST_JOBS)
    with cluster:
        result = astra_ns3.study(file, output=folder, preset="paper", scheduler=cluster.scheduler_address)
    print(result.frame)
    if len(result.failed):
        sys.exit(f"{len(result.failed)} points failed; see {result.folder}/index.html")
