# To be sourced: two network namespaces, $first and $second, which are as good as two machines, with
# addresses 10.77.0.1 and 10.77.0.2 on a wire between them that is called `wire` in both. Needs root
# and ip.
#   join_namespaces     makes them, or says why not and exits with 77
#   remove_namespaces   ends all that runs in them; for a trap
PATH=$PATH:/usr/sbin:/sbin
first=trireme_a_$$ second=trireme_b_$$

skip() {
  echo "skipped: $*" >&2
  exit 77
}

join_namespaces() {
  command -v ip >/dev/null || skip "no ip here (package iproute2)"
  { ip netns add "$first" && ip netns add "$second"; } 2>/dev/null ||
    skip "no network namespaces here (ip netns add, as root)"
  ip -n "$first" link add wire type veth peer name wire netns "$second"
  ip -n "$first" addr add 10.77.0.1/24 dev wire
  ip -n "$second" addr add 10.77.0.2/24 dev wire
  local space
  for space in "$first" "$second"; do
    ip -n "$space" link set lo up
    ip -n "$space" link set wire up
  done
}

remove_namespaces() {
  local space
  for space in "$first" "$second"; do
    ip netns pids "$space" 2>/dev/null | xargs -r kill -KILL 2>/dev/null || true
    ip netns del "$space" 2>/dev/null || true
  done
}
