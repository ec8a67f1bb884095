#!/usr/bin/env bash
# Runs ctest under AddressSanitizer and ThreadSanitizer, then every fuzz target for 60 s.
source "$(dirname "$0")/common.sh"
tools/install-deps.sh --test
source tools/sanitizer_options.sh
status=0
figures=""
for preset in asan tsan; do
  cmake --preset $preset >/dev/null
  cmake --build --preset $preset -j "$(nproc)"
  ctest --preset $preset -LE slow --no-tests=error 2>&1 | tee "$out/$preset.log" || status=1
  figures+="$preset: $(grep -E 'tests passed' "$out/$preset.log" | tail -n 1), "
done
tools/fuzz.sh 60 2>&1 | tee "$out/fuzz.log" || status=1
conclude "$status" "$figures$(tail -n 1 "$out/fuzz.log")"
