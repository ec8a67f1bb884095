#!/usr/bin/env bash
# 300 random decoders (a GRU with attention over ragged sources, some of no rows; length penalty, coverage):
# words, scores and order of the n best hypotheses of a beam search against the enumeration of all hypotheses in
# double precision; and the other tests of generation: narrow beams, greedy search, sampling, gradients of
# scores, bad input. About four minutes beside the build.
source "$(dirname "$0")/common.sh"
tools/install-deps.sh --test
cmake --preset dev >/dev/null
cmake --build --preset dev -j "$(nproc)" --target session_test misuse_test
status=0
TRIREME_DECODERS=300 build/dev/bin/session_test \
  --gtest_filter='BeamSearch.*:Sample.*:Generation.*' >"$out/03-5.log" 2>&1 || status=1
build/dev/bin/misuse_test --gtest_filter='DecodingMisuse.*' >"$out/03-5-misuse.log" 2>&1 || status=1
decoders=$(sed -nE 's/^([0-9]+) decoders agree.*/\1/p' "$out/03-5.log")
tests=$(sed -nE 's/.*PASSED *\] ([0-9]+) tests.*/\1/p' "$out/03-5.log" "$out/03-5-misuse.log" |
  awk '{ sum += $1 } END { print sum + 0 }')
[ "${decoders:-0}" -eq 300 ] && [ "$tests" -ge 20 ] || status=1
conclude "$status" "${decoders:-0} of 300 random decoders: the beam equals enumeration; $tests tests of generation pass"
