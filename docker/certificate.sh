#!/usr/bin/env bash
# Makes a certificate and its key in FOLDER, for the TLS of a Dask scheduler, its workers and its clients: each shows it,
# and trusts nobody without it. Only the owner can read the key. What is there and valid for a day or more stays.
#
# usage: docker/certificate.sh FOLDER
set -euo pipefail

(($# == 1)) || { echo "usage: docker/certificate.sh FOLDER" >&2; exit 2; }
umask 077
mkdir -p "$1"
chmod 700 "$1"
if [[ -s "$1/key.pem" ]] && openssl x509 -in "$1/certificate.pem" -noout -checkend 86400 >/dev/null 2>&1; then exit 0; fi
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 365 -subj /CN=astra-ns3 \
    -keyout "$1/key.pem" -out "$1/certificate.pem" 2>/dev/null
