#!/usr/bin/env bash
# Measures the start and the memory at rest of this server and of kube-apiserver 1.25 with etcd, in turn:
# tools/bench/compare.sh REFERENCE [ROUNDS], where REFERENCE is the folder that tools/differ/reference/build.sh makes.
# Each start has an empty store and ends when /readyz answers 200.
set -euo pipefail
reference=$(realpath "${1:?name the folder that tools/differ/reference/build.sh has made}") rounds=${2:-5}
capstan=$(realpath "${CAPSTAN:-bin/capstan}")
dir=$(mktemp -d) running=()
trap 'kill "${running[@]}" 2> /dev/null || true; wait 2> /dev/null; rm -rf "$dir"' EXIT
token=compare,compare,compare,system:masters
port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
ready() { until curl -sk -o /dev/null -f -H "Authorization: Bearer compare" "https://127.0.0.1:$1/readyz"; do sleep 0.01; done; }
resident() { for p in "$@"; do awk '/VmRSS/ { print $2 }' "/proc/$p/status"; done | awk '{ n += $1 } END { printf "%d MiB", n / 1024 }'; }

ours() {
  local at; at=$(port)
  "$capstan" serve --data-dir "$1/data" --secure-port "$at" --token-auth-file "$dir/tokens" > "$1/log" 2>&1 &
  running=($!); ready "$at"
}
theirs() {
  local etcd peer at; etcd=$(port) peer=$(port) at=$(port)
  "$reference/etcd" --data-dir "$1/etcd" --log-level error --listen-client-urls "http://127.0.0.1:$etcd" --advertise-client-urls "http://127.0.0.1:$etcd" \
    --listen-peer-urls "http://127.0.0.1:$peer" --initial-advertise-peer-urls "http://127.0.0.1:$peer" --initial-cluster "default=http://127.0.0.1:$peer" > "$1/etcd.log" 2>&1 &
  running=($!)
  "$reference/kube-apiserver" --etcd-servers "http://127.0.0.1:$etcd" --secure-port "$at" --cert-dir "$1/pki" --token-auth-file "$dir/tokens" \
    --authorization-mode RBAC --service-cluster-ip-range 10.0.0.0/16 --service-account-issuer https://kubernetes.default.svc \
    --service-account-signing-key-file "$dir/key" --service-account-key-file "$dir/key" > "$1/log" 2>&1 &
  running+=($!); ready "$at"
}

echo "$token" > "$dir/tokens"
openssl genrsa -out "$dir/key" 2048 2> /dev/null
for round in $(seq "$rounds"); do
  for side in ours theirs; do
    mkdir -p "$dir/$side$round"
    begin=$(date +%s%N); "$side" "$dir/$side$round"; end=$(date +%s%N)
    sleep 5
    echo "$side: ready after $(((end - begin) / 1000000)) ms, $(resident "${running[@]}") resident after 5 s"
    kill "${running[@]}"; wait "${running[@]}" 2> /dev/null || true
  done
done
