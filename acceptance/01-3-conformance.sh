#!/usr/bin/env bash
# The conformance suite's table: every op, every check.
source "$(dirname "$0")/common.sh"
tools/install-deps.sh --test
cmake --preset dev >/dev/null
cmake --build --preset dev -j "$(nproc)"
status=0
ctest --preset dev -R conformance --no-tests=error --verbose >"$out/conformance.log" 2>&1 || status=1
grep -E '^[0-9]+: \|' "$out/conformance.log" | sed -E 's/^[0-9]+: //' | tee "$out/conformance.md" || status=1
rows=$(grep -cE '^\| [a-z]' "$out/conformance.md" || true)
ops=$(sed -n '/set(TRIREME_OPS/,/)/p' src/ops/CMakeLists.txt | grep -cE '^ +[a-z]')
[ "$rows" -ge "$ops" ] || status=1
conclude "$status" "$rows rows for $ops ops, $(grep -ciE 'skip|fail' "$out/conformance.md" || true) rows with a skip or a failure"
