#!/usr/bin/env bash
# Compiles 500 random recurrent steps (several states, attention, nested steps, lengths from 0) with
# 1 and 2 threads. Compares values and gradients with the same steps unrolled for each sequence and
# computed in double precision. Takes about six minutes after the build.
source "$(dirname "$0")/common.sh"
tools/install-deps.sh --test
cmake --preset dev >/dev/null
cmake --build --preset dev -j "$(nproc)" --target nn_run_system_test
status=0
TRIREME_RANDOM_STEPS=500 build/dev/bin/nn_run_system_test --gtest_filter='RandomSteps.*' \
  >"$out/03-1.log" 2>&1 || status=1
grep -q 'PASSED.* 1 test' "$out/03-1.log" || status=1
conclude "$status" "500 random steps agree with unrolled steps: $([ "$status" -eq 0 ] && echo yes || echo no)"
