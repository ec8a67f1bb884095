#!/usr/bin/env bash
# Compares distributed steps with those of one process on the joined batches. Runs synchronous steps
# of 2 and 3 trainers with 2 servers, and all-reduce of 2 and 4 members, as processes on synthetic
# clicks. 30 losses must agree within 1e-5 and all parameters within 2e-5, and all members must have
# equal bits. Also runs the tests of these strategies with members as threads.
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
worst=$(sed -nE 's/.* differ by at most ([0-9.e+-]+) from.*/\1/p' "$out/04-1-processes.log" | sort -g | tail -n 1)
[ "${passed:-0}" -ge 9 ] && [ "$runs" -eq 4 ] || status=1
conclude "$status" "$runs of 4 runs with processes: losses within ${worst:-?} of those of one process, bits equal on all members; ${passed:-0} tests with threads"
