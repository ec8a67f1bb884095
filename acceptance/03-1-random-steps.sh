#!/usr/bin/env bash
# 500 random steps of recurrent networks (several memories, attention, steps within steps, lengths from zero
# on), compiled at 1 and 2 threads: values and gradients against the same steps written out sequence by
# sequence, computed in double precision. About six minutes beside the build.
source "$(dirname "$0")/common.sh"
tools/install-deps.sh --test
cmake --preset dev >/dev/null
cmake --build --preset dev -j "$(nproc)" --target session_test
status=0
TRIREME_RANDOM_STEPS=500 build/dev/bin/session_test --gtest_filter='RandomSteps.*' \
  >"$out/03-1.log" 2>&1 || status=1
grep -q 'PASSED.* 1 test' "$out/03-1.log" || status=1
conclude "$status" "500 random steps agree with steps written out: $([ "$status" -eq 0 ] && echo yes || echo no)"
