#!/usr/bin/env bash
# 20 runs of 3 minutes under all seeded faults (processes killed and stopped, wires slow, narrow, cut and silent, checkpoints
# damaged, no room for them, clocks that jump, a real etcd killed and started again): no run hangs, and in each every record was
# counted exactly once in each epoch. The same, shorter, of synchronous steps, of all-reduce, and between two network namespaces, where
# nothing may be lost, and counted again only what was handed out again. And how long it takes until work goes on after a kill, with
# nothing else the matter: of a trainer, a server, the master that leads, etcd, and of a member of an all-reduce.
# About two hours. SEEDS and SECONDS_EACH make it shorter.
source "$(dirname "$0")/common.sh"
tools/install-deps.sh --test
cmake --preset dev >/dev/null
cmake --build --preset dev -j "$(nproc)" --target chaos distributed_test
status=0
seeds=${SEEDS:-20} seconds=${SECONDS_EACH:-180}
chaos() { build/dev/bin/chaos "$@" 2>&1 | tee "$out/04-2-$log.log" || status=1; }
# most LOG FAULT: the longest wait after it.
most() { sed -nE "s/^$2 .*most ([0-9.]+) s$/\1/p" "$out/04-2-$1.log"; }
# within WHAT MOST LIMIT
within() {
  at_least "$3" "${2:-999}" || status=1
  echo "$1: at most ${2:-?} s ($3)"
}

log=exact chaos --seeds "$seeds" --seconds "$seconds" --etcd
grep -q '^all exact' "$out/04-2-exact.log" || status=1
log=synchronous chaos --mode synchronous --seeds "$(((seeds + 4) / 5))" --seconds "$seconds" --etcd
log=all_reduce chaos --mode all_reduce --seeds "$(((seeds + 4) / 5))" --seconds "$seconds" --etcd
code=0
tests/distributed/chaos/namespaces.sh build/dev/bin/chaos --seeds "$(((seeds + 4) / 5))" --seconds "$seconds" 2>&1 |
  tee "$out/04-2-namespaces.log" || code=$?
[ "$code" -eq 0 ] || [ "$code" -eq 77 ] || status=1

log=kills chaos --first 1001 --seeds 2 --seconds "$seconds" --pause 9 --etcd \
  --faults "kill trainer","kill server","kill master","restart etcd"
log=members chaos --first 1001 --mode all_reduce --seconds "$seconds" --pause 5 --faults "kill trainer"
within "the others go on after a trainer was killed" "$(most kills 'kill trainer')" 1
within "servers go on after one was killed" "$(most kills 'kill server')" 3
within "another master leads after the leader was killed" "$(most kills 'kill master: another one leads')" 7
within "tasks are ended after etcd is back" "$(most kills 'restart etcd')" 3
within "members know that one was killed" "$(most members 'kill member: another one knows')" 0.1
within "and are a group again" "$(most members 'kill member: the others are a group')" 0.2
build/dev/bin/distributed_test --gtest_filter='*Killed*:*Restart*:*ComesBack*' >"$out/04-2-groups.log" 2>&1 || status=1
exact=$(grep -c ': exact;' "$out/04-2-exact.log" || true)
conclude "$status" "$exact of $seeds runs exact; work goes on at most $(most kills 'kill server') s after a server was killed (3), $(most kills 'kill master: another one leads') s after a master (7)"
