#!/usr/bin/env bash
# Sets everything up in one step: checks the machine, makes the virtual environment, builds and installs the package.
#
# usage: scripts/setup.sh [--venv DIR] [--extras NAME,...] [--editable] [--python PROGRAM]
#
# Quick when there is nothing to do: what was done is remembered by fingerprints in DIR/.astra-ns3.
# Used by the Makefile, docker/build.sh and the continuous integration alike.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/toolchain.sh
source scripts/toolchain.sh

venv=.venv
extras=""
mode=""
python=""
build=build/native
while (($#)); do
    case "$1" in
        --venv) venv=$2; shift 2 ;;
        --extras) extras=$2; shift 2 ;;
        --python) python=$2; shift 2 ;;
        --editable) mode=editable; shift ;;
        *) fail "scripts/setup.sh: unknown argument '$1'; allowed: --venv DIR, --extras NAMES, --editable, --python PROGRAM" ;;
    esac
done

export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_USER=0
log="$venv/.astra-ns3/setup.log"

# The fingerprint of files: their names and contents.
fingerprint() { find "$@" -type f -not -path '*/__pycache__/*' -print0 | sort -z | xargs -0 sha256sum | sha256sum | cut -d' ' -f1; }

remembered() { [[ "$(cat "$venv/.astra-ns3/$1" 2>/dev/null)" == "$2" ]]; }
remember() { printf '%s\n' "$2" >"$venv/.astra-ns3/$1"; }

# Runs pip, keeps its output in the log, and shows the end of it only when pip fails.
pip_install() {
    if ! "$venv/bin/python" -m pip install --progress-bar off "$@" >>"$log" 2>&1; then
        grep -v '^WARNING' "$log" | tail -n 40 >&2
        fail "pip could not install: $* (the whole output is in $log)"
    fi
}

make_environment() {
    check_platform
    find_compiler
    # An environment that was left half made, by Ctrl-C say, is made again.
    if [[ -f "$venv/.astra-ns3/requirements" ]] || "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
        check_python "$venv/bin/python" || fail "$venv: $PYTHON_PROBLEM (or remove $venv)"
    else
        find_python "$python"
        echo "Making the virtual environment $venv with $PYTHON ($("$PYTHON" -V 2>&1))"
        "$PYTHON" -m venv --clear "$venv" || fail "'$PYTHON -m venv $venv' failed; install the python3-venv package"
    fi
    mkdir -p "$venv/.astra-ns3"
}

# What pyproject.toml asks for, without the package itself.
install_requirements() {
    local wanted build_requirements
    for extra in $(cat "$venv/.astra-ns3/extras" 2>/dev/null) ${extras//,/ }; do
        [[ " ${all_extras:-} " == *" $extra "* ]] || all_extras="${all_extras:+$all_extras }$extra"
    done
    wanted="$(fingerprint pyproject.toml) ${all_extras:-}"
    remembered requirements "$wanted" && return
    : >"$log"
    if ! "$venv/bin/python" -c 'import cppyy_backend' 2>/dev/null; then
        echo "Installing the requirements; cppyy is compiled once on this machine, which takes a minute or two"
    else
        echo "Installing the requirements"
    fi
    read -ra build_requirements <<<"$(sed -n 's/^requires = \[\(.*\)\]$/\1/p' pyproject.toml | tr -d '",')"
    # cppyy is compiled on one core; so the package is compiled beside it. It needs the wheel of ns-3, which asks for cppyy.
    pip_install --no-deps "${build_requirements[@]: -1}"
    pip_install "${build_requirements[@]::${#build_requirements[@]}-1}" cmake ninja
    begin_build
    pip_install "${build_requirements[@]}"
    mapfile -t wanted_by_package < <("$venv/bin/python" scripts/requirements.py pyproject.toml ${all_extras:-})
    pip_install "${wanted_by_package[@]}"
    # cppyy makes its precompiled header at the first import: here, not in the user's first run.
    "$venv/bin/python" -c 'import cppyy' >>"$log" 2>&1 || fail "cppyy can't be imported; see $log"
    needs_install=yes
    requirements_wanted=$wanted
}

# Builds the package's wheel in the background, and the runner of the C++ suites for those who develop.
begin_build() {
    [[ "${mode:-$(cat "$venv/.astra-ns3/mode" 2>/dev/null)}" != editable ]] || return 0
    local bin
    bin=$(cd "$venv/bin" && pwd)
    rm -rf "$venv/.astra-ns3/wheel"
    {
        PATH="$bin:$PATH" nice "$bin/python" -m pip wheel --no-deps --no-build-isolation --config-settings=build-dir="$build" \
            --wheel-dir "$venv/.astra-ns3/wheel" .
        [[ " ${all_extras:-} " != *" development "* ]] ||
            nice "$bin/cmake" --build "$build" --target astra-ns3-test-runner -- --quiet
    } >"$venv/.astra-ns3/build.log" 2>&1 &
    building=$!
    trap 'kill "$building" 2>/dev/null || true' EXIT
}

# Waits for the build that was begun, if one was; the wheel is the target then.
end_build() {
    [[ -n "${building:-}" ]] || return 0
    wait "$building" || { tail -n 40 "$venv/.astra-ns3/build.log" >&2; fail "the package could not be built"; }
    target=$(echo "$(cd "$venv" && pwd)/.astra-ns3/wheel/"astra_ns3-*.whl)
}

install_package() {
    local sources=(CMakeLists.txt cmake pyproject.toml README.md LICENSE ns3-scratch) target=.
    mode=${mode:-$(cat "$venv/.astra-ns3/mode" 2>/dev/null || echo installed)}
    [[ "$mode" == editable ]] || sources+=(astra_ns3 inputs)
    local wanted
    wanted="$(fingerprint "${sources[@]}") $mode"
    if [[ -z "${needs_install:-}" ]] && remembered package "$wanted"; then
        return
    fi
    echo "Building and installing astra-ns3"
    [[ -n "${needs_install:-}" ]] || : >"$log" # else the log goes on after the requirements
    end_build
    local arguments=(--force-reinstall --no-deps --no-build-isolation "--config-settings=build-dir=$build")
    [[ "$mode" == editable ]] && arguments+=(--editable)
    PATH="$(cd "$venv/bin" && pwd):$PATH" pip_install "${arguments[@]}" "$target"
    # Chakra's published reader, for tests; of what it asks for they need nothing.
    [[ -z "${needs_install:-}" || " ${all_extras:-} " != *" development "* ]] || pip_install --no-deps mlc-chakra==1.0.0
    remember package "$wanted"
    remember mode "$mode"
    remember extras "${all_extras:-}"
    [[ -z "${requirements_wanted:-}" ]] || remember requirements "$requirements_wanted"
}

make_environment
install_requirements
install_package
