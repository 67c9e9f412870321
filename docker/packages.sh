#!/usr/bin/env bash
# Installs the system's packages that an image needs, on Debian or Ubuntu, as root.
#
# usage: docker/packages.sh build      a compiler, and Python with its headers
#        docker/packages.sh runtime    Python, and the headers of C, C++ and Python that cling reads when it compiles hooks
#                                      and C++ congestion controls; no compiler: cling is one, and only asks where they lie;
#                                      openssl, which makes the certificates of a cluster
set -euo pipefail
shopt -s nullglob
export DEBIAN_FRONTEND=noninteractive

[[ "${1:-}" == build || "${1:-}" == runtime ]] || { echo "usage: docker/packages.sh build|runtime" >&2; exit 2; }

# Whether the base brings a Python of its own; Debian's, without the module ensurepip, is completed instead.
has_python() { python3 -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; }

install() { apt-get install --yes --no-install-recommends "$@" >/dev/null; }

# The name of the headers of the C++ library that this release's compiler uses, such as libstdc++-12-dev.
standard_library() {
    local needed
    needed=$(apt-cache depends --recurse --no-recommends --no-suggests g++)
    grep --only-matching --max-count=1 'libstdc++-[0-9]*-dev' <<<"$needed"
}

# What the package manager brings along and nothing that runs here reads.
remove_unused() {
    rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/apt /var/log/dpkg.log /var/log/alternatives.log
    [[ "$1" == runtime ]] || return 0
    rm -rf /usr/share/man/* /usr/share/info/* /usr/share/locale/* /usr/share/lintian
    find /usr/share/doc -type f ! -name copyright -delete
    find /usr/lib/gcc /usr/lib/x86_64-linux-gnu /usr/lib/python3* -name '*.a' -delete
    rm -f /usr/lib/x86_64-linux-gnu/lib{asan,tsan,lsan,ubsan,hwasan}.so*
}

# Answers `c++ -xc++ -E -v /dev/null`, the only question that cling has for a compiler: where the headers are.
answer_for_compiler() {
    local folder answer=/usr/local/bin/c++
    cat >"$answer" <<'SCRIPT'
#!/bin/sh
# No compiler: says where the headers are, which is all that cling asks one for.
[ "$*" = "-xc++ -E -v /dev/null" ] || { echo "c++: this image has no compiler" >&2; exit 1; }
cat <<'END'
#include <...> search starts here:
SCRIPT
    for folder in /usr/include/c++/* /usr/include/x86_64-linux-gnu/c++/* /usr/include/c++/*/backward \
        /usr/lib/gcc/x86_64-linux-gnu/*/include /usr/local/include /usr/include/x86_64-linux-gnu /usr/include; do
        printf ' %s\n' "$folder" >>"$answer"
    done
    printf '%s\n' 'End of search list.' END >>"$answer"
    chmod 755 "$answer"
}

apt-get update >/dev/null
if [[ "$1" == build ]]; then
    packages=(g++)
    has_python || packages+=(python3-dev python3-venv)
else
    packages=("$(standard_library)" openssl)
    has_python || packages+=(python3 libpython3-dev)
fi
install "${packages[@]}"
[[ "$1" == build ]] || command -v c++ >/dev/null || answer_for_compiler
remove_unused "$1"
