#!/usr/bin/env bash
# The steps of the image, kept in a script so that they can be run and tested without a container engine:
# installs astra-ns3 and what it needs into a virtual environment at PREFIX.
#
# usage: docker/build.sh PREFIX
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

(($# == 1)) || { echo "usage: docker/build.sh PREFIX" >&2; exit 2; }
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
scripts/setup.sh --venv "$1" --extras plots,report --build-folder "$build"
"$1/bin/astra-ns3" --version
