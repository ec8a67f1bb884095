#!/usr/bin/env bash
# Checks conditional random fields and connectionist temporal classification: losses and decoders
# against the enumeration of all paths and alignments, gradients against finite differences, and the
# CTC loss against PyTorch's. Takes about a minute after the build.
source "$(dirname "$0")/common.sh"
tools/install-deps.sh --test
cmake --preset dev >/dev/null
cmake --build --preset dev -j "$(nproc)" --target nn_run_test misuse_test conformance conformance_layers
status=0
log=$out/03-5.log
: >"$log"
# tests_of PROGRAM FILTER: sets `passed` to the number of tests that passed; all must pass.
tests_of() {
  build/dev/bin/"$1" --gtest_filter="$2" >"$out/03-5-part.log" 2>&1 || status=1
  cat "$out/03-5-part.log" >>"$log"
  passed=$(sed -nE 's/^\[  PASSED  \] ([0-9]+) tests?.*/\1/p' "$out/03-5-part.log")
  passed=${passed:-0}
}
tests_of nn_run_test 'Crf.*:Ctc.*'
tests=$passed
tests_of misuse_test 'StructuredMisuse.*'
misuse=$passed
ops=0
for op in ctc ctc_gradient; do
  if build/dev/bin/conformance --op "$op" >>"$log" 2>&1; then ops=$((ops + 1)); else status=1; fi
done
build/dev/bin/conformance_layers >"$out/03-5-part.log" 2>&1 || status=1
layers=$(grep -cE '^(crf_loss|ctc_loss) .*' "$out/03-5-part.log" || true)
grep -E '^(crf_loss|ctc_loss) ' "$out/03-5-part.log" | grep -q FAIL && status=1
[ "$tests" -ge 13 ] && [ "$misuse" -ge 4 ] && [ "$ops" -eq 2 ] && [ "$layers" -eq 2 ] || status=1
conclude "$status" "CRF and CTC: $tests tests, $misuse misuse tests, $ops ops and $layers losses of the conformance suite"
