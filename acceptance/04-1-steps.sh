#!/usr/bin/env bash
# Steps of many are those of one: synchronous training with 2 servers and 1, 2 and 3 trainers against one process on the
# joined batch, losses, rows and dense parameters within 1e-5; all-reduce with 1, 2 and 4 members: parameters equal to the
# bit on all of them, and equal to one process within 2e-5.
source "$(dirname "$0")/common.sh"
tools/install-deps.sh --test
cmake --preset dev >/dev/null
cmake --build --preset dev -j "$(nproc)" --target distributed_test
status=0
build/dev/bin/distributed_test --gtest_filter='*ServerTrainingOf.*:*DataParallel*' >"$out/04-1.log" 2>&1 || status=1
passed=$(sed -nE 's/.*PASSED *\] ([0-9]+) tests.*/\1/p' "$out/04-1.log")
[ "${passed:-0}" -ge 9 ] || status=1
conclude "$status" "${passed:-0} tests: synchronous steps and all-reduce equal one process, members to the bit"
