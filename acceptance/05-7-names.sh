#!/usr/bin/env bash
# Golden files of 0.1.0 load, and every old name of the C++ API, of job keys and of metrics works
# with one warning. The figure counts the tests.
source "$(dirname "$0")/common.sh"
tools/install-deps.sh --test
cmake --preset release -DTRIREME_UNITY=ON -DTRIREME_BUILD_TESTS=ON >/dev/null
cmake --build --preset release -j "$(nproc)" --target old_names_test trireme_cli >/dev/null
cmake --preset asan >/dev/null
cmake --build --preset asan -j "$(nproc)" --target golden_test session_test distributed_test >/dev/null
log=$out/05-7-names.log
: >"$log"
status=0
# tests PRESET NAME [FILTER]: runs a test program and adds to the log.
tests() {
  "build/$1/bin/$2" --gtest_filter="${3:-*}" >>"$log" 2>&1 || status=1
}
tests release old_names_test
. tools/sanitizer_options.sh
tests asan golden_test
tests asan session_test 'RenamedKeys*'
tests asan distributed_test '*Registry*'
warned=$(ctest --preset release -R old_names_warnings -V | tee -a "$log" | sed -nE 's/.*: ([0-9]+ of [0-9]+) mistakes.*/\1/p')
passed=$(sed -nE 's/^\[  PASSED  \] ([0-9]+) tests?\.?/\1/p' "$log" | paste -sd+ | bc)
grep -q '\[  FAILED  \]' "$log" && status=1
[ -n "$warned" ] && [ "${warned% of *}" = "${warned#* of }" ] || status=1
conclude "$status" "$passed tests of golden files and old names, ${warned:-no} names with one warning of the compiler"
