#!/usr/bin/env bash
# Operations that the profiler counts, forwards and backwards, of a bidirectional LSTM and of a GRU with
# attention: a batch of lengths 10 to 200 against each of its sequences alone; and the Plans' values, none of
# which is as large as sequences times steps.
source "$(dirname "$0")/common.sh"
tools/install-deps.sh --test
cmake --preset dev >/dev/null
cmake --build --preset dev -j "$(nproc)" --target session_test
status=0
build/dev/bin/session_test --gtest_filter='*Operations*' >"$out/03-2.log" 2>&1 || status=1
grep -q 'PASSED.* 6 tests' "$out/03-2.log" || status=1
figures=$(grep '^operations' "$out/03-2.log" | paste -sd ';' || true)
conclude "$status" "${figures:-no figures}"
