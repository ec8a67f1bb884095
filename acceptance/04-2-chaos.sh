#!/usr/bin/env bash
# 20 runs of 3 minutes under all seeded faults (processes killed and stopped, stores that are stopped, wires slow, narrow, cut and
# silent, checkpoints damaged, no room for them, clocks that jump, strangers, other numbers of servers and trainers, a real etcd killed
# and started again): no run hangs, no process ends by itself as it should not, and in each every record was counted exactly once in
# each epoch. The same, fewer, of synchronous steps, geo and all-reduce; with the product's own trainers, in all modes, by
# `trireme launch`; and between two network namespaces. Where steps are taken together nothing may be lost, and counted again only what
# was handed out again. Two runs at a time.
# Then, alone on the machine, how long it takes until work goes on after a kill, with nothing else the matter: of a trainer in each kind
# of mode, a server, the master that leads, etcd, and of a member of an all-reduce.
# About 100 minutes. SEEDS, SECONDS_EACH and JOBS make it shorter.
source "$(dirname "$0")/common.sh"
tools/install-deps.sh --test
cmake --preset dev >/dev/null
cmake --build --preset dev -j "$(nproc)" --target chaos distributed_test
status=0
seeds=${SEEDS:-20} seconds=${SECONDS_EACH:-180} jobs=${JOBS:-$(nproc)}
fifth=$(((seeds + 4) / 5))
# chaos LOG OPTIONS...: a full disk needs a file system that root alone can mount; without it less was shown.
chaos() {
  local log=$out/04-2-$1.log
  shift
  build/dev/bin/chaos --logs "$out/04-2-logs" "$@" 2>&1 | tee "$log" || status=1
  if grep -q '^left out:' "$log"; then status=1; fi
}
# namespaces MODE: 77 would be that there are none.
namespaces() {
  tests/distributed/chaos/namespaces.sh build/dev/bin/chaos --logs "$out/04-2-logs" --mode "$1" --first "$2" \
    --seeds "$(((fifth + 3) / 4))" --seconds "$seconds" >"$out/04-2-namespaces-$1-$2.log" 2>&1 || return 1
  ! grep -q '^left out:' "$out/04-2-namespaces-$1-$2.log"
}
# most LOG WHAT: the longest wait after it.
most() { sed -nE "s/^$2 .*most ([0-9.]+) s$/\1/p" "$out/04-2-$1.log"; }
# within WHAT MOST LIMIT
within() {
  at_least "$3" "${2:-999}" || status=1
  echo "$1: at most ${2:-?} s ($3)"
}
# compared LOG: strangers have come, and some were compared with what the process counted.
compared() {
  local visits
  visits=$(sed -nE 's/^visits of strangers: .* ([0-9]+) were compared with counters$/\1/p' "$out/04-2-$1.log")
  at_least "${visits:-0}" 1 || status=1
  echo "strangers whose visit was compared with counters, $1: ${visits:-0}"
}

chaos exact --seeds "$seeds" --seconds "$seconds" --etcd --jobs "$jobs"
grep -q '^all exact' "$out/04-2-exact.log" || status=1
compared exact
for mode in synchronous geo all_reduce; do
  chaos $mode --mode $mode --seeds "$fifth" --seconds "$seconds" --etcd --jobs "$jobs"
done
chaos launch --launch --mode each --seeds "$((2 * fifth))" --seconds "$seconds" --jobs "$jobs"
chaos launch-etcd --launch --mode each --first 1001 --seeds "$fifth" --seconds "$seconds" --jobs "$jobs" --etcd
compared launch
# Two at a time, each in namespaces of its own.
for mode in asynchronous synchronous all_reduce; do
  namespaces $mode 1 & first=$!
  namespaces $mode 1001 & second=$!
  wait $first || status=1
  wait $second || status=1
  cat "$out/04-2-namespaces-$mode-1.log" "$out/04-2-namespaces-$mode-1001.log"
done

chaos kills --first 1001 --seeds 2 --seconds "$seconds" --pause 9 --etcd \
  --faults "kill trainer","kill server","kill master","restart etcd"
chaos kills-synchronous --first 1001 --mode synchronous --seconds "$seconds" --pause 7 --faults "kill trainer"
chaos members --first 1001 --mode all_reduce --seconds "$seconds" --pause 5 --faults "kill trainer"
within "asynchronous: the others go on after a trainer was killed" "$(most kills 'kill trainer')" 1
within "synchronous: the same" "$(most kills-synchronous 'kill trainer')" 1
within "all-reduce: the same" "$(most members 'kill trainer')" 1
within "servers go on after one was killed" "$(most kills 'kill server')" 3
within "another master leads after the leader was killed" "$(most kills 'kill master: another one leads')" 7
within "tasks are ended after etcd is back" "$(most kills 'restart etcd')" 3
within "every process can write after etcd is back" "$(most kills 'restart etcd: all can write')" 3
within "all members know that one was killed" "$(most members 'kill member: all others know')" 0.1
within "and all are a group again" "$(most members 'kill member: all others are a group')" 0.2
build/dev/bin/distributed_test --gtest_filter='*Killed*:*Restart*:*ComesBack*' >"$out/04-2-groups.log" 2>&1 || status=1
exact=$(grep -c ': exact;' "$out/04-2-exact.log" || true)
own=$(cat "$out"/04-2-launch*.log | grep -cE ': (exact|kept);' || true)
conclude "$status" "$exact of $seeds runs exact, $own of $((3 * fifth)) of the product's own trainers right; work goes on at most $(most kills 'kill server') s after a server was killed (3), $(most kills 'kill master: another one leads') s after a master (7)"
