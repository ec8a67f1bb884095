#!/usr/bin/env bash
# `make test-long`: every test in its long form (TRIREME_LONG_TESTS) and in every configuration,
# then a minute of fuzzing for each target. Takes several hours on two processors. CONTRIBUTING.md
# lists what runs here and not in CI.
#   tools/test_long.sh [PRESET...]   only these of release, asan, tsan; without fuzzing
set -euo pipefail
cd "$(dirname "$0")/.."
source tools/sanitizer_options.sh
jobs=${JOBS:-$(nproc)}

presets=("$@")
[ $# -gt 0 ] || presets=(release asan tsan)
failed=()
for preset in "${presets[@]}"; do
  cmake --preset "$preset" -DTRIREME_TEST_SUITE=all -DTRIREME_LONG_TESTS=ON -DTRIREME_UNITY=ON \
    -DTRIREME_BUILD_TESTS=ON
  cmake --build --preset "$preset" -j "$jobs"
  ctest --preset "$preset" -j $((jobs + 1)) || failed+=("$preset")
done
if [ $# -eq 0 ]; then
  # One file at a time, so that each must include what it uses.
  cmake --preset dev -DTRIREME_UNITY=OFF && cmake --build --preset dev -j "$jobs" || failed+=(dev)
  tools/fuzz.sh 60 || failed+=(fuzz)
fi
[ ${#failed[@]} -eq 0 ] || {
  echo "test-long: failed: ${failed[*]}" >&2
  exit 1
}
