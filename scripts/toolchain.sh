# Finds the Python and the compiler to use, or says in one line what to install. Sourced, not run.
# shellcheck shell=bash disable=SC2034

fail() {
    echo "error: $*" >&2
    exit 1
}

check_platform() {
    local platform
    platform="$(uname -s) $(uname -m)"
    [[ "$platform" == "Linux x86_64" ]] ||
        fail "this machine is '$platform'; the ns3 wheel exists for x86-64 Linux only; use such a machine"
}

# check_python PROGRAM: true when it can be used; otherwise PYTHON_PROBLEM says why not.
check_python() {
    PYTHON_PROBLEM=$("$1" - 2>/dev/null <<'PROGRAM'
import sys

version = "%d.%d" % sys.version_info[:2]
if not (3, 10) <= sys.version_info[:2] <= (3, 13):
    print("Python %s is not supported; install Python 3.10, 3.11, 3.12 or 3.13" % version)
    sys.exit()

import importlib.util, os, platform, sysconfig

missing = [name for name in ("venv", "ensurepip") if importlib.util.find_spec(name) is None]
libc, libc_version = platform.libc_ver()
if platform.python_implementation() != "CPython" or sys.maxsize < 2**32:
    print("%s is not supported; install CPython 3.10 to 3.13 for x86-64" % platform.python_implementation())
elif libc != "glibc" or tuple(map(int, libc_version.split(".")[:2])) < (2, 28):
    print("the C library is not glibc 2.28 or later, which the ns3 wheel needs; use Debian 10, Ubuntu 20.04, RHEL 8 or later")
elif missing:
    print("Python %s lacks the module %s; install python%s-venv" % (version, missing[0], version))
elif not os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h")):
    print("Python %s lacks its C headers; install python%s-dev (or -devel)" % (version, version))
else:
    print("ok")
PROGRAM
    ) || PYTHON_PROBLEM=""
    [[ "$PYTHON_PROBLEM" == ok ]]
}

# find_python [PROGRAM]: sets PYTHON, the user's own python3 when it can be used, else the newest that can.
find_python() {
    local candidate problem=""
    for candidate in ${1:-python3 python3.13 python3.12 python3.11 python3.10}; do
        command -v "$candidate" >/dev/null || continue
        if check_python "$candidate"; then
            PYTHON=$candidate
            return
        fi
        # The first supported version that lacks something is worth more to the user than "not supported".
        if [[ -z "$problem" || ("$problem" == *"is not supported"* && "$PYTHON_PROBLEM" == *lacks*) ]]; then
            problem=$PYTHON_PROBLEM
        fi
    done
    fail "${problem:-no Python found; install Python 3.10, 3.11, 3.12 or 3.13 with its venv module and C headers}"
}

compiles_cxx20() {
    "$1" -std=c++20 -fsyntax-only -x c++ - >/dev/null 2>&1 <<'PROGRAM'
#if defined(__clang__) ? __clang_major__ < 14 : __GNUC__ < 11
#error too old
#endif
#include <concepts>
#include <span>
static_assert(std::integral<int> && __cplusplus >= 202002L);
PROGRAM
}

# find_compiler: exports CXX and CC, for CMake and pip alike.
find_compiler() {
    local candidate version c_compiler candidates=(c++ g++)
    for version in 16 15 14 13 12 11; do candidates+=("g++-$version"); done
    candidates+=(clang++)
    for version in 21 20 19 18 17 16 15 14; do candidates+=("clang++-$version"); done
    [[ -z "${CXX:-}" ]] || candidates=("$CXX")
    for candidate in "${candidates[@]}"; do
        if command -v "$candidate" >/dev/null && compiles_cxx20 "$candidate"; then
            c_compiler=${candidate/clang++/clang}
            c_compiler=${c_compiler/g++/gcc}
            c_compiler=${c_compiler/#c++/cc}
            command -v "$c_compiler" >/dev/null || c_compiler=$candidate
            export CXX=$candidate CC=${CC:-$c_compiler}
            return
        fi
    done
    fail "no C++20 compiler found; install g++ 11 or later, or clang++ 14 or later (Debian, Ubuntu: apt install g++; Fedora: dnf install gcc-c++)"
}
