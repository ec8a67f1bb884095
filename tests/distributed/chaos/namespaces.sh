#!/usr/bin/env bash
# A job whose trainers are on another "machine" than its master, servers and store: two network namespaces with a wire between
# them that is cut, loses packets and becomes narrow. All connections have mutual TLS.
#   tests/distributed/chaos/namespaces.sh CHAOS [OPTIONS OF chaos...]
# Exits with 77, saying why, where namespaces, iptables or tc are not to be had.
set -euo pipefail
chaos=$(readlink -f "$1")
shift
exec </dev/null
PATH=$PATH:/usr/sbin:/sbin
first=trireme_chaos_a_$$ second=trireme_chaos_b_$$
finish() {
  for space in $first $second; do
    ip netns pids $space 2>/dev/null | xargs -r kill -KILL 2>/dev/null || true
    ip netns del $space 2>/dev/null || true
  done
}
trap finish EXIT
skip() {
  echo "skipped: $*"
  exit 77
}

for tool in ip iptables tc; do
  command -v $tool >/dev/null || skip "no $tool here (packages iproute2 and iptables)"
done
{ ip netns add $first && ip netns add $second; } 2>/dev/null ||
  skip "no network namespaces here (ip netns add, as root)"
ip -n $first link add wire type veth peer name wire netns $second
ip -n $first addr add 10.78.0.1/24 dev wire
ip -n $second addr add 10.78.0.2/24 dev wire
for space in $first $second; do
  ip -n $space link set lo up
  ip -n $space link set wire up
  # What the faults need of the kernel.
  ip netns exec $space iptables -w -A INPUT -i wire -m statistic --mode random --probability 0.05 -j DROP 2>/dev/null ||
    skip "iptables cannot drop packets at random here"
  ip netns exec $space iptables -w -F INPUT
  ip netns exec $space tc qdisc add dev wire root tbf rate 8mbit burst 16kb latency 200ms 2>/dev/null ||
    skip "tc has no token buckets here"
  ip netns exec $space tc qdisc del dev wire root
done
ip netns exec $first "$chaos" --host 10.78.0.1 --trainers-in $second "$@"
