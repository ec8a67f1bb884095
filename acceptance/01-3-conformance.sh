#!/usr/bin/env bash
# Runs the conformance suite: every op, every layer, every check. The suite fails if a check is
# skipped without a reason. This script compares its totals with the list of ops.
source "$(dirname "$0")/common.sh"
tools/install-deps.sh --test
cmake --preset dev >/dev/null
cmake --build --preset dev -j "$(nproc)"
status=0
ctest --preset dev -R conformance --no-tests=error --verbose >"$out/conformance.log" 2>&1 || status=1
sed -nE 's/^[0-9]+: ?//p' "$out/conformance.log" | tee "$out/conformance.txt"
expected=$(sed -n '/set(TRIREME_OPS/,/)/p' src/ops/CMakeLists.txt | grep -cE '^ +[a-z]')
ops=$(sed -nE 's/^([0-9]+ ops, [0-9]+ cases, 0) cells failed or missing$/\1/p' "$out/conformance.txt")
layers=$(sed -nE 's/^([0-9]+ rows, 0) cells failed or missing$/\1/p' "$out/conformance.txt")
[ "${ops%% *}" = "$expected" ] && [ -n "$layers" ] || status=1
conclude "$status" "${ops:-no total of ops} failed or skipped without a reason; layers and optimizers: ${layers:-no total} failed"
