#!/usr/bin/env bash
# Plays a run of every kind with the program in PREFIX: what was taken out of an image was not needed. Half a minute.
# Writes into a temporary folder only, so it runs as any user, and inside an image.
#
# usage: docker/check.sh PREFIX
set -euo pipefail

(($# == 1)) || { echo "usage: docker/check.sh PREFIX" >&2; exit 2; }
bin=$(cd "$1/bin" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export HOME=$folder PYTHONNOUSERSITE=1

# check NAME COMMAND...: runs it, and shows what it said only when it fails.
check() {
    local name=$1 started=$SECONDS
    shift
    "$@" >said 2>&1 || { cat said >&2; echo "docker/check.sh: $name: failed" >&2; exit 1; }
    echo "$name: passed in $((SECONDS - started)) s"
}

# run NAME ARGUMENTS...: plays a small all-reduce.
run() {
    local name=$1
    shift
    check "$name" "$bin/astra-ns3" run -w inputs/workload/micro-all-reduce.txt -s inputs/system/flat.txt -o "results/$name" "$@"
}

check examples "$bin/astra-ns3" example inputs
run tcp -n inputs/network/single-switch-16.yaml --record flows
run roce -n inputs/network/roce-16.yaml --record all
run analytical -n inputs/network/single-switch-16.yaml --backend analytical
run hook -n inputs/network/single-switch-16.yaml --hook inputs/hooks/sample-queue.py
grep --quiet 'hook: switch0:0:' said
run control -n inputs/network/roce-16.yaml --congestion-control inputs/congestion-control/additive.hpp:AdditiveControl
check report "$bin/astra-ns3" report results/roce -o report.html
check pictures "$bin/python" -c '
import numpy, pandas, matplotlib
matplotlib.use("agg")
from matplotlib import pyplot
flows = pandas.read_parquet("results/tcp/flows.parquet")
assert len(flows), "no flows"
pyplot.plot(numpy.linalg.solve(numpy.eye(3), numpy.ones(3)))
pyplot.savefig("picture.png"); pyplot.savefig("picture.svg")'
check dask "$bin/python" -c '
from distributed import Client
with Client(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None) as client:
    assert client.submit(sum, [1, 2]).result(timeout=30) == 3'
