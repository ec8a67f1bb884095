#!/usr/bin/env bash
# 20 runs of 3 minutes under seeded faults (processes killed and stopped, checkpoints damaged, a real etcd killed and
# started again): no run hangs, and in each every record was counted exactly once in each epoch. And how long it takes until
# work goes on: after a killed trainer, server and master; the group of an all-reduce with a killed member; a restarted etcd.
# About 70 minutes.
source "$(dirname "$0")/common.sh"
tools/install-deps.sh --test
cmake --preset dev >/dev/null
cmake --build --preset dev -j "$(nproc)" --target chaos distributed_test
status=0
build/dev/bin/chaos --seeds "${SEEDS:-20}" --seconds "${SECONDS_EACH:-180}" --etcd 2>&1 | tee "$out/04-2.log" || status=1
grep -q '^all exact' "$out/04-2.log" || status=1
# most FAULT: the longest wait after it.
most() { sed -nE "s/^$1 .*most ([0-9.]+) s/\1/p" "$out/04-2.log"; }
server=$(most 'kill server')
master=$(most 'kill master')
at_least 3 "${server:-4}" && at_least 7 "${master:-8}" || status=1
build/dev/bin/distributed_test --gtest_filter='*Killed*:*Restart*:*ComesBack*' >"$out/04-2-groups.log" 2>&1 || status=1
exact=$(grep -c ': exact;' "$out/04-2.log" || true)
conclude "$status" "$exact of ${SEEDS:-20} runs exact; work goes on at most ${server:-?} s after a server was killed (3), ${master:-?} s after a master (7)"
