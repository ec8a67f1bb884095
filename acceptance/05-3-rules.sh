#!/usr/bin/env bash
# No op names outside of files that declare them, no upward includes, no circles. The test of the
# checker plants a violation of each rule.
source "$(dirname "$0")/common.sh"
status=0
tools/check_layers.py | tee "$out/05-3-layers.log" || status=1
breaches=$(grep -cE '^[^ ]+:[0-9]+: ' "$out/05-3-layers.log" || true)
python3 tests/tools/check_layers_test.py >"$out/05-3-test.log" 2>&1 || status=1
tests=$(grep -oE '^Ran [0-9]+ tests' "$out/05-3-test.log" || true)
conclude "$status" "$breaches violations; planted violations: ${tests:-no} of tools/check_layers.py"
