#!/usr/bin/env bash
# Runs every linter; ends with status 1 when one of them complains.
# usage: scripts/lint.sh [VENV]
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit
bin=${1:-.venv}/bin
status=0

"$bin/ruff" check --quiet . || status=1
"$bin/ruff" format --check --quiet --diff . || status=1
"$bin/mypy" || status=1
# Spelling of pages, docstrings and inputs. Names that look like slips: Clos, InForce, CoNEXT, `fro` of "to and fro", ND.
if [[ -x $bin/codespell ]]; then
    "$bin/codespell" --ignore-words-list clos,inforce,conext,fro,nd --skip '*.svg,*.png,*.ipynb,*/lib/*,*/include/*' \
        README.md CONTRIBUTING.md CHANGELOG.md docs astra_ns3 inputs || status=1
fi
find ns3-scratch benchmarks -name '*.cc' -print0 -o -name '*.h' -print0 |
    xargs -0 --no-run-if-empty "$bin/clang-format" --dry-run --Werror || status=1
# clang-tidy needs to know how each file is compiled, which a build has written down. It reads what a build compiles at once.
if [[ -x $bin/clang-tidy && -f build/native/compile_commands.json ]]; then
    find build/native/CMakeFiles -path '*astra-ns3*/Unity/*.cxx' -print0 |
        xargs -0 --no-run-if-empty -n 1 -P "$(nproc)" "$bin/clang-tidy" -p build/native --quiet || status=1
fi
((status == 0)) && echo "lint: clean"
exit "$status"
