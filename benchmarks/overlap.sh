#!/usr/bin/env bash
# overlap.sh [ROUNDS] [BUCKET_KIB]: measures the share of all-reduce's time over a link of 1 Gbit/s
# that is hidden by computation. Joins two network namespaces by a link that tc limits in both
# directions, and trains with one process in each (overlap.cc). Prints JSON lines.
# RATE=10gbit sets another speed. Needs root, ip and tc; exits with 77 without network namespaces.
set -euo pipefail
cd "$(dirname "$0")/.."
exec </dev/null
source tools/two_namespaces.sh
program=${OVERLAP:-build/release/bin/overlap}
export TRIREME_DATA=${TRIREME_DATA:-$PWD/../shared/data}
work=$(mktemp -d /tmp/trireme_overlap_XXXXXX)
finish() {
  remove_namespaces
  rm -rf "$work"
}
trap finish EXIT
join_namespaces
for space in $first $second; do
  ip netns exec $space tc qdisc add dev wire root tbf rate "${RATE:-1gbit}" burst 256kb latency 20ms
done
ip netns exec $second "$program" 1 10.77.0.2 "$work" "$@" &
other=$!
ip netns exec $first "$program" 0 10.77.0.1 "$work" "$@"
wait $other
