#!/usr/bin/env bash
# overlap.sh [ROUNDS] [BUCKET_KIB]: which share of all-reduce's time over a link of 1 Gbit/s is hidden by computing meanwhile. Two
# network namespaces are joined by a wire that tc limits in both directions; in each one process trains (overlap.cc). Prints
# JSON lines. RATE=10gbit takes another link. Needs root, ip and tc; exits with 77 where there are no namespaces.
set -euo pipefail
cd "$(dirname "$0")/.."
exec </dev/null
PATH=$PATH:/usr/sbin:/sbin
program=${OVERLAP:-build/release/bin/overlap}
export TRIREME_DATA=${TRIREME_DATA:-$PWD/../shared/data}
first=trireme_c_$$ second=trireme_d_$$
work=$(mktemp -d /tmp/trireme_overlap_XXXXXX)
finish() {
  for space in $first $second; do
    ip netns pids $space 2>/dev/null | xargs -r kill -KILL 2>/dev/null || true
    ip netns del $space 2>/dev/null || true
  done
  rm -rf "$work"
}
trap finish EXIT
if ! { ip netns add $first && ip netns add $second; } 2>/dev/null; then
  echo "skipped: no network namespaces here (ip netns add, as root)" >&2
  exit 77
fi
ip -n $first link add wire type veth peer name wire netns $second
ip -n $first addr add 10.78.0.1/24 dev wire
ip -n $second addr add 10.78.0.2/24 dev wire
for space in $first $second; do
  ip -n $space link set lo up
  ip -n $space link set wire up
  ip netns exec $space tc qdisc add dev wire root tbf rate "${RATE:-1gbit}" burst 256kb latency 20ms
done
ip netns exec $second "$program" 1 10.78.0.2 "$work" "$@" &
other=$!
ip netns exec $first "$program" 0 10.78.0.1 "$work" "$@"
wait $other
