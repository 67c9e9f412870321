#!/usr/bin/env bash
# Builds the image with the first of docker, podman and buildah that works here, and plays docker/check.sh in it as
# another user than the image's own. buildah needs no daemon.
#
# usage: docker/image.sh [ENGINE]
#   IMAGE=astra-ns3                the image's name
#   BASE=debian:bookworm-slim      what it starts from: Debian or Ubuntu, an image's name or, for buildah, an archive
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

image=${IMAGE:-astra-ns3}
base=${BASE:-debian:bookworm-slim}
user=4321:4321
check=(check-astra-ns3 /opt/astra-ns3)

fail() { echo "docker/image.sh: $*" >&2; exit 1; }

# Docker's and Podman's clients may be there without an engine that answers.
works() {
    case "$1" in
        docker | podman) command -v "$1" >/dev/null && "$1" info >/dev/null 2>&1 ;;
        buildah) command -v buildah >/dev/null ;;
        *) fail "unknown engine '$1'; allowed: docker, podman, buildah" ;;
    esac
}

find_engine() {
    local candidate
    for candidate in ${1:-docker podman buildah}; do
        works "$candidate" && { engine=$candidate; return; }
    done
    fail "${1:-docker, podman and buildah}: not found or without an engine that answers; install one, such as Debian's package buildah"
}

find_engine "${1:-}"
echo "Building $image with $engine from $base"
if [[ "$engine" == buildah ]]; then
    buildah build --isolation chroot --build-arg BASE="$base" -f docker/Dockerfile \
        --ignorefile docker/Dockerfile.dockerignore -t "$image" .
    container=$(buildah from "$image")
    trap 'buildah rm "$container" >/dev/null' EXIT
    buildah run --isolation chroot --user "$user" "$container" -- "${check[@]}"
else
    "$engine" build --build-arg BASE="$base" -f docker/Dockerfile -t "$image" .
    "$engine" run --rm --user "$user" --read-only --tmpfs /tmp:exec --entrypoint "${check[0]}" "$image" "${check[@]:1}"
fi
echo "$image works, as user ${user%%:*} too"
