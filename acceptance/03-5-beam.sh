#!/usr/bin/env bash
# Compares beam search with enumeration for 300 random decoders: a GRU with attention over ragged
# sources, some without rows; length penalty; coverage. Words, scores and order of the n best
# hypotheses must equal those of all hypotheses in double precision. Also runs the other tests of
# generation: narrow beams, greedy search, sampling, gradients of scores, invalid input. Takes about
# four minutes after the build.
source "$(dirname "$0")/common.sh"
tools/install-deps.sh --test
cmake --preset dev >/dev/null
cmake --build --preset dev -j "$(nproc)" --target nn_run_test misuse_test
status=0
TRIREME_DECODERS=300 build/dev/bin/nn_run_test \
  --gtest_filter='BeamSearch.*:Sample.*:Generation.*' >"$out/03-5.log" 2>&1 || status=1
build/dev/bin/misuse_test --gtest_filter='DecodingMisuse.*' >"$out/03-5-misuse.log" 2>&1 || status=1
decoders=$(sed -nE 's/^([0-9]+) decoders agree.*/\1/p' "$out/03-5.log")
tests=$(sed -nE 's/.*PASSED *\] ([0-9]+) tests.*/\1/p' "$out/03-5.log" "$out/03-5-misuse.log" |
  awk '{ sum += $1 } END { print sum + 0 }')
[ "${decoders:-0}" -eq 300 ] && [ "$tests" -ge 20 ] || status=1
conclude "$status" "beam search equals enumeration for ${decoders:-0} of 300 random decoders; $tests tests of generation pass"
