#!/usr/bin/env bash
# Every failure point of the control plane: the protocols of generations, the queue of tasks,
# checkpoints, moves of slots, scaling and rollbacks run with a store that fails before, or loses
# its answer after, each of their operations in turn. None may lose or repeat anything, or hang.
# And 1,000 members form a group in one process, lose 10 and form it again.
source "$(dirname "$0")/common.sh"
tools/install-deps.sh --test
cmake --preset asan -DTRIREME_TEST_SUITE=all >/dev/null
cmake --build --preset asan -j "$(nproc)" --target distributed_test >/dev/null
# shellcheck source=tools/sanitizer_options.sh
. tools/sanitizer_options.sh
log=$out/06-5-control.log
status=0
TRIREME_MEMBERS=1000 build/asan/bin/distributed_test \
  --gtest_filter='*FailurePoints*:*ManyMembersLoseTenAndFormAgain' >"$log" 2>&1 || status=1
grep -E '^(failure points|members that formed)' "$log" || true
points=$(sed -nE 's/^failure points of .*: ([0-9]+)$/\1/p' "$log" | awk '{ sum += $1 } END { print sum + 0 }')
protocols=$(grep -cE '^failure points of ' "$log" || true)
violations=$(grep -cE '^\[  FAILED  \] .*\(' "$log" || true)
members=$(value_of 'formed it again' "$log")
[ "$protocols" -ge 10 ] || status=1
[ "${members:-0}" = 1000 ] || status=1
conclude "$status" "$points failure points of $protocols protocols, $violations violations; ${members:-0} members formed, lost 10 and formed again"
