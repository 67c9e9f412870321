#!/usr/bin/env bash
# The steps of the image, kept in a script so that they can be run and tested without a container engine: installs
# the wheel and what it needs into a virtual environment at PREFIX, takes out what is never opened, and plays a run of
# every kind with what is left.
#
# usage: docker/build.sh PREFIX
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

(($# == 1)) || { echo "usage: docker/build.sh PREFIX" >&2; exit 2; }
prefix=$1

# cling's precompiled header is made here and read on other machines: for any x86-64, not for this one only.
export EXTRA_CLING_ARGS=${EXTRA_CLING_ARGS:--O2}

scripts/build_wheel.sh --environment "$prefix"
"$prefix/bin/python" docker/prune.py
install -D --mode=755 docker/check.sh "$prefix/bin/check-astra-ns3"
install -D --mode=755 docker/certificate.sh "$prefix/bin/astra-ns3-certificate"
install -D --mode=644 docker/NOTICE "$prefix/share/doc/astra-ns3/NOTICE"
install -D --mode=644 LICENSE "$prefix/share/doc/astra-ns3/LICENSE"
docker/check.sh "$prefix"
"$prefix/bin/astra-ns3" --version
