#!/usr/bin/env bash
# Steps of many are those of one. As processes, on clicks that are made up: synchronous steps of 2 and 3 trainers with 2 servers, and
# all-reduce with 2 and 4 members: 30 losses and all parameters are those of one process on the joined batches (1e-5 and 2e-5), and
# bits are equal on all members. And the tests of these strategies, with members as threads.
source "$(dirname "$0")/common.sh"
tools/install-deps.sh --test
cmake --preset dev >/dev/null
cmake --build --preset dev -j "$(nproc)" --target distributed_test steps_test
status=0
build/dev/bin/steps_test >"$out/04-1-processes.log" 2>&1 || status=1
grep ' processes: ' "$out/04-1-processes.log" || status=1
build/dev/bin/distributed_test --gtest_filter='*ServerTrainingOf.*:*DataParallel*' >"$out/04-1.log" 2>&1 || status=1
passed=$(sed -nE 's/.*PASSED *\] ([0-9]+) tests.*/\1/p' "$out/04-1.log")
runs=$(grep -c ' processes: .*bits are equal' "$out/04-1-processes.log" || true)
most=$(sed -nE 's/.* differ by at most ([0-9.e+-]+) from.*/\1/p' "$out/04-1-processes.log" | sort -g | tail -n 1)
[ "${passed:-0}" -ge 9 ] && [ "$runs" -eq 4 ] || status=1
conclude "$status" "$runs runs of processes (4): losses at most ${most:-?} from those of one process, bits equal on all members; ${passed:-0} tests with threads"
