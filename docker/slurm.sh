#!/usr/bin/env bash
# A study as a batch job of Slurm, in Apptainer's image: a scheduler on the first node, a worker for every task.
# Stopped, by its time limit say, it goes on where it was when it is submitted again. They talk by TLS, with a key of the job's own.
#
# usage: sbatch --nodes 4 --ntasks-per-node 32 --mem-per-cpu 4G docker/slurm.sh STUDY.yaml [PRESET]
#SBATCH --job-name=astra-ns3
#SBATCH --cpus-per-task=1
set -euo pipefail

(($# >= 1)) || { echo "usage: sbatch [OPTIONS] docker/slurm.sh STUDY.yaml [PRESET]" >&2; exit 2; }
study=$1
preset=${2:-paper}
inside=(apptainer exec --bind "$PWD" --pwd "$PWD" "${IMAGE:-astra-ns3.sif}")
output=${OUTPUT:-results/$(basename "$study" .yaml)-$preset}
meeting=$PWD/scheduler-$SLURM_JOB_ID.json
# As the engine has them for workers of its own: longest points first, to whoever is free; two workers may die of a point.
export DASK_DISTRIBUTED__SCHEDULER__WORKER_SATURATION=1.0 DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES=2
export DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED=False DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL=1s
export DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__INTERVAL=10s
# Whoever reaches a scheduler can run code as this user: only who has this job's key, in a folder that no other user can read.
keys=$PWD/scheduler-$SLURM_JOB_ID.tls
export DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION=True DASK_DISTRIBUTED__COMM__TLS__CA_FILE=$keys/certificate.pem
for role in SCHEDULER WORKER CLIENT; do
    export "DASK_DISTRIBUTED__COMM__TLS__${role}__CERT=$keys/certificate.pem"
    export "DASK_DISTRIBUTED__COMM__TLS__${role}__KEY=$keys/key.pem"
done
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$meeting" "$keys"' EXIT

"${inside[@]}" astra-ns3-certificate "$keys"
http=(--no-dashboard --dashboard-address 127.0.0.1:0)
"${inside[@]}" dask scheduler --protocol tls --port 0 "${http[@]}" --scheduler-file "$meeting" &
srun "${inside[@]}" dask worker --scheduler-file "$meeting" --no-nanny --nthreads 1 --memory-limit 0 "${http[@]}" \
    --local-directory "${TMPDIR:-/tmp}" &
until [[ -s "$meeting" ]]; do sleep 1; done
address=$(sed -n 's/.*"address": *"\([^"]*\)".*/\1/p' "$meeting")
"${inside[@]}" astra-ns3 study "$study" --preset "$preset" --output "$output" --scheduler "$address"
