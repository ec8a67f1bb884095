#!/usr/bin/env bash
# Counts operations with the profiler, forward and backward, of a bidirectional LSTM and of a GRU
# with attention. A batch with lengths 10 to 200 must need as many as its sequences run alone. No
# value in the Plans may be as large as sequences times steps.
source "$(dirname "$0")/common.sh"
tools/install-deps.sh --test
cmake --preset dev >/dev/null
cmake --build --preset dev -j "$(nproc)" --target nn_run_system_test
status=0
build/dev/bin/nn_run_system_test --gtest_filter='*Operations*' >"$out/03-2.log" 2>&1 || status=1
grep -q 'PASSED.* 6 tests' "$out/03-2.log" || status=1
figures=$(grep '^operations' "$out/03-2.log" | paste -sd ';' || true)
conclude "$status" "${figures:-no figures}"
