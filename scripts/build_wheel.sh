#!/usr/bin/env bash
# Builds the package's wheel into dist/ and tries it: in a fresh environment, away from the sources, a run of every kind.
#
# usage: scripts/build_wheel.sh [--environment DIR] [--python PROGRAM]
#
# The fresh environment is thrown away, unless DIR names where to keep it: then whoever goes on with it tries it. The wheel is built with what scripts/setup.sh
# made in .venv, if that is there, else in an environment of its own, as pip does.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/toolchain.sh
source scripts/toolchain.sh

environment=""
python=""
while (($#)); do
    case "$1" in
        --environment) environment=$2; shift 2 ;;
        --python) python=$2; shift 2 ;;
        *) fail "scripts/build_wheel.sh: unknown argument '$1'; allowed: --environment DIR, --python PROGRAM" ;;
    esac
done

check_platform
find_compiler
find_python "$python"
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
kept=$environment
environment=${environment:-$temporary/environment}
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_USER=0

# quietly COMMAND...: shows what it said only when it fails.
quietly() { "$@" >"$temporary/said" 2>&1 || { tail -n 40 "$temporary/said" >&2; fail "'$*' failed"; }; }

echo "Building the wheel"
rm -rf dist/astra_ns3-*.whl
if [[ -f .venv/.astra-ns3/package ]]; then
    PATH="$PWD/.venv/bin:$PATH" quietly .venv/bin/python -m pip wheel --no-deps --no-build-isolation \
        --config-settings=build-dir=build/native --wheel-dir dist .
else
    quietly "$PYTHON" -m venv "$temporary/builder"
    quietly "$temporary/builder/bin/python" -m pip wheel --no-deps --config-settings=build-dir="$temporary/build" --wheel-dir dist .
fi
wheel=$(echo dist/astra_ns3-*.whl)
echo "Installing $wheel in a fresh environment"
quietly "$PYTHON" -m venv "$environment"
quietly "$environment/bin/python" -m pip install "$wheel[all]"
if [[ -z "$kept" ]]; then
    docker/check.sh "$environment"
    echo "$wheel works"
fi
