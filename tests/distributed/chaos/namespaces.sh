#!/usr/bin/env bash
# A job on two "machines": two network namespaces with a wire between them that is cut, loses
# packets and becomes narrow. The store is on one, every second master, server and trainer on the
# other; so members of an all-reduce have that wire between them, too. All connections but theirs
# have mutual TLS.
#   tests/distributed/chaos/namespaces.sh CHAOS [OPTIONS OF chaos...]
# Exits with 77, saying why, where namespaces, iptables or tc are not available.
set -euo pipefail
chaos=$(readlink -f "$1")
shift
exec </dev/null
source "$(dirname "$0")/../../../tools/two_namespaces.sh"
trap remove_namespaces EXIT

for tool in iptables tc; do
  command -v $tool >/dev/null || skip "no $tool here (packages iproute2 and iptables)"
done
join_namespaces
for space in $first $second; do
  # What the faults need of the kernel.
  ip netns exec $space iptables -w -A INPUT -i wire -m statistic --mode random --probability 0.05 -j DROP 2>/dev/null ||
    skip "iptables cannot drop packets at random here"
  ip netns exec $space iptables -w -F INPUT
  ip netns exec $space tc qdisc add dev wire root tbf rate 8mbit burst 16kb latency 200ms 2>/dev/null ||
    skip "tc has no token buckets here"
  ip netns exec $space tc qdisc del dev wire root
done
ip netns exec $first "$chaos" --host 10.77.0.1 --other-namespace $second --other-host 10.77.0.2 "$@"
