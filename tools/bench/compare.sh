#!/usr/bin/env bash
# Measures this server, kube-apiserver 1.25 with etcd and, where KINE names that program, kube-apiserver with kine on SQLite, in turn:
# [KINE=program] tools/bench/compare.sh REFERENCE [ROUNDS], where REFERENCE is the folder that tools/differ/reference/build.sh makes,
# and kine is made by CGO_ENABLED=1 go install github.com/k3s-io/kine@v0.17.5. Needs curl, python3, openssl and h2load (Debian: nghttp2-client).
# A start has an empty store and ends when /readyz answers 200. Memory is that of all processes after REST seconds without a request. The cost of a
# request is their CPU time during OPERATIONS requests of 32 clients, after a fifth as many that are not counted.
set -euo pipefail
shopt -s inherit_errexit
reference=$(realpath "${1:?name the folder that tools/differ/reference/build.sh has made}") rounds=${2:-3}
capstan=$(realpath "${CAPSTAN:-bin/capstan}") kine=${KINE:+$(realpath "$KINE")} rest=${REST:-30} operations=${OPERATIONS:-5000}
dir=$(mktemp -d) running=()
trap 'kill "${running[@]}" 2> /dev/null || true; wait 2> /dev/null; rm -rf "$dir"' EXIT
key='Authorization: Bearer compare' json='Content-Type: application/json' tick=$(getconf CLK_TCK)
port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
ready() { until curl -sk -o /dev/null -f -H "$key" "https://127.0.0.1:$at/readyz"; do sleep 0.01; done; }
resident() { for p in "${running[@]}"; do awk '/VmRSS/ { print $2 }' "/proc/$p/status"; done | awk '{ n += $1 } END { printf "%d", n / 1024 }'; }
# Microseconds of CPU, user and system, of all processes since their start.
cpu() { for p in "${running[@]}"; do sed 's/.*) //' "/proc/$p/stat"; done | awk -v t="$tick" '{ n += $12 + $13 } END { printf "%d", n * 1000000 / t }'; }

capstan() {
  at=$(port)
  "$capstan" serve --data-dir "$1/data" --secure-port "$at" --token-auth-file "$dir/tokens" > "$1/log" 2>&1 &
  running=($!); ready
}
kube-apiserver() {
  at=$(port)
  "$reference/kube-apiserver" --etcd-servers "$2" --secure-port "$at" --cert-dir "$1/pki" --token-auth-file "$dir/tokens" \
    --authorization-mode RBAC --service-cluster-ip-range 10.0.0.0/16 --service-account-issuer https://kubernetes.default.svc \
    --service-account-signing-key-file "$dir/key" --service-account-key-file "$dir/key" > "$1/log" 2>&1 &
  running+=($!); ready
}
etcd() {
  local etcd peer; etcd=http://127.0.0.1:$(port) peer=http://127.0.0.1:$(port)
  "$reference/etcd" --data-dir "$1/etcd" --log-level error --listen-client-urls "$etcd" --advertise-client-urls "$etcd" \
    --listen-peer-urls "$peer" --initial-advertise-peer-urls "$peer" --initial-cluster "default=$peer" > "$1/etcd.log" 2>&1 &
  running=($!); kube-apiserver "$1" "$etcd"
}
kine() { # with its own settings, on a socket, as k3s runs it
  (cd "$1" && exec "$kine" --listen-address "unix://$1/kine.sock" --metrics-bind-address 0 > kine.log 2>&1) &
  running=($!); kube-apiserver "$1" "unix://$1/kine.sock"
}

# load COUNT h2load's arguments...: all answers must be successes, but for one in five hundred: the names that servers generate collide.
load() {
  local count=$1; shift
  h2load --h1 -c 32 -n "$count" -H "$key" "$@" > "$dir/load"
  awk -v n="$count" '/^status codes:/ { good = $3 } END { exit good < n - n / 500 }' "$dir/load" ||
    { echo "not all requests have succeeded:" >&2; grep -E '^(requests|status)' "$dir/load" >&2; return 1; }
}
# cost h2load's arguments...: microseconds of CPU for each request.
cost() {
  local before
  load $((operations / 5)) "$@"; before=$(cpu); load "$operations" "$@"
  echo $((($(cpu) - before) / operations))
}
post() { curl -skf -o /dev/null -H "$key" -H "$json" -d "$2" "$1"; }

measure() {
  local side=$1 folder=$dir/$1$2 begin end start memory space create get
  mkdir "$folder"
  begin=$(date +%s%N); "$side" "$folder"; end=$(date +%s%N) start=$(cpu)
  sleep "$rest"
  memory=$(resident) space=https://127.0.0.1:$at/api/v1/namespaces
  post "$space" '{"metadata":{"name":"measured"}}'
  space+=/measured
  post "$space/serviceaccounts" '{"metadata":{"name":"sailor"}}'
  post "$space/pods" "@$dir/pod"
  create=$(cost -H "$json" -d "$dir/configmap" "$space/configmaps")
  get=$(cost "$space/pods/boat")
  printf '%-8s ready after %5d ms, %5d ms of CPU; %4d MiB at rest; create a config map %5d us, get a pod %4d us\n' \
    "$side" $(((end - begin) / 1000000)) $((start / 1000)) "$memory" "$create" "$get"
  kill "${running[@]}"; wait "${running[@]}" 2> /dev/null || true
}

echo compare,compare,compare,system:masters > "$dir/tokens"
openssl genrsa -out "$dir/key" 2048 2> /dev/null
python3 - "$dir" <<'PY'
import json, sys
def write(name, value):
    with open(sys.argv[1] + "/" + name, "w") as file:
        json.dump(value, file)
write("configmap", {"metadata": {"generateName": "sail-"}, "data": {"key-%d" % i: "v" * 48 for i in range(16)}})
write("pod", {"metadata": {"name": "boat"}, "spec": {"serviceAccountName": "sailor", "automountServiceAccountToken": False, "containers": [{
    "name": "main", "image": "example/boat:1", "env": [{"name": "VARIABLE_%d" % i, "value": "v" * 48} for i in range(24)]}]}})
PY
for round in $(seq "$rounds"); do
  for side in capstan etcd ${kine:+kine}; do measure "$side" "$round"; done
done
