#!/usr/bin/env bash
# Runs jobs 20 times for 3 minutes with all seeded faults: killed and stopped processes, stopped
# stores, slow, narrow, cut and silent links, damaged checkpoints, full disks, clock jumps,
# unauthenticated peers, changed numbers of servers and trainers, and a real etcd that is killed and
# restarted. No run may hang, no process may end unexpectedly, and every epoch must count every
# record exactly once. Fewer runs of the same test synchronous, geo and all-reduce modes, Trireme's
# own trainers in all modes with `trireme launch`, and two network namespaces. In modes with common
# steps no record may be lost, and only records of reassigned tasks may be counted twice. Two runs
# at a time.
#
# Then measures, alone on the machine and without other faults, the time until work continues after
# a kill: of a trainer in each kind of mode, a server, the leading master, etcd, and an all-reduce
# member.
#
# Takes about 100 minutes. SEEDS, SECONDS_EACH and JOBS shorten it.
source "$(dirname "$0")/common.sh"
tools/install-deps.sh --test
cmake --preset dev >/dev/null
cmake --build --preset dev -j "$(nproc)" --target chaos distributed_test
status=0
seeds=${SEEDS:-20} seconds=${SECONDS_EACH:-180} jobs=${JOBS:-$(nproc)}
fifth=$(((seeds + 4) / 5))
# chaos LOG OPTIONS...: runs the chaos program. Fails if it left out a fault, for example the full
# disk, which needs a file system that only root can mount.
chaos() {
  local log=$out/04-2-$1.log
  shift
  build/dev/bin/chaos --logs "$out/04-2-logs" "$@" 2>&1 | tee "$log" || status=1
  if grep -q '^left out:' "$log"; then status=1; fi
}
# namespaces MODE FIRST_SEED: runs in two network namespaces; fails too if there are none (77).
namespaces() {
  tests/distributed/chaos/namespaces.sh build/dev/bin/chaos --logs "$out/04-2-logs" --mode "$1" --first "$2" \
    --seeds "$(((fifth + 3) / 4))" --seconds "$seconds" >"$out/04-2-namespaces-$1-$2.log" 2>&1 || return 1
  ! grep -q '^left out:' "$out/04-2-namespaces-$1-$2.log"
}
# longest LOG FAULT: prints the longest wait after a fault.
longest() { sed -nE "s/^$2 .*most ([0-9.]+) s$/\1/p" "$out/04-2-$1.log"; }
# within WHAT SECONDS LIMIT
within() {
  at_least "$3" "${2:-999}" || status=1
  echo "$1: at most ${2:-?} s ($3)"
}
# compared LOG: fails unless visits of unauthenticated peers were compared with the counters of the
# process that they visited.
compared() {
  local visits
  visits=$(sed -nE 's/^visits of unauthenticated peers: .* ([0-9]+) were compared with counters$/\1/p' "$out/04-2-$1.log")
  at_least "${visits:-0}" 1 || status=1
  echo "visits of unauthenticated peers compared with counters, $1: ${visits:-0}"
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
# Two at a time, each in its own namespaces.
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
within "asynchronous: trainers continue after one was killed" "$(longest kills 'kill trainer')" 1
within "synchronous: the same" "$(longest kills-synchronous 'kill trainer')" 1
within "all-reduce: the same" "$(longest members 'kill trainer')" 1
within "servers continue after one was killed" "$(longest kills 'kill server')" 3
within "another master leads after the leader was killed" "$(longest kills 'kill master: another one leads')" 7
within "tasks end after etcd is back" "$(longest kills 'restart etcd')" 3
within "every process can write after etcd is back" "$(longest kills 'restart etcd: all can write')" 3
within "all members know that one was killed" "$(longest members 'kill member: all others know')" 0.1
within "all members form a group again" "$(longest members 'kill member: all others are a group')" 0.2
build/dev/bin/distributed_test --gtest_filter='*Killed*:*Restart*:*ComesBack*' >"$out/04-2-groups.log" 2>&1 || status=1
exact=$(grep -c ': exact;' "$out/04-2-exact.log" || true)
own=$(cat "$out"/04-2-launch*.log | grep -cE ': (exact|kept);' || true)
conclude "$status" "$exact of $seeds runs exact, $own of $((3 * fifth)) of Trireme's own trainers correct; work continues at most $(longest kills 'kill server') s after a server was killed (3), $(longest kills 'kill master: another one leads') s after a master (7)"
