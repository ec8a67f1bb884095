#!/usr/bin/env bash
# Builds the libFuzzer targets of tests/fuzz (preset fuzz) and runs each for SECONDS (default 10):
#   tools/fuzz.sh [SECONDS]
# A finding is left as build/fuzz/findings/<target>-<hash>; run the target on that file to see it.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-10}
source tools/sanitizer_options.sh

if [ ! -f tests/fuzz/CMakeLists.txt ]; then
  echo "fuzz: no tests/fuzz, nothing to run"
  exit 0
fi
cmake --preset fuzz >/dev/null
cmake --build --preset fuzz --target fuzz_targets -j "${JOBS:-$(nproc)}"

mkdir -p build/fuzz/findings

# fuzz NAME: one target, into build/fuzz/NAME.log; a line of what came of it.
fuzz() {
  local name=$1 log=build/fuzz/$1.log found=build/fuzz/corpus/$1 seeds=()
  mkdir -p "$found"  # what libFuzzer discovers, kept between runs
  if [ -d "tests/fuzz/corpus/${name#fuzz_}" ]; then
    seeds=("tests/fuzz/corpus/${name#fuzz_}")
  fi
  if "build/fuzz/bin/$name" "$found" "${seeds[@]}" -max_total_time="$seconds" -timeout=10 \
      -rss_limit_mb=2048 -artifact_prefix="build/fuzz/findings/$name-" \
      -print_final_stats=1 </dev/null >"$log" 2>&1; then
    echo "fuzz: $name ok, $(sed -n 's/stat::number_of_executed_units: *//p' "$log") runs"
  else
    echo "fuzz: $name FAILED, the end of $log:"
    tail -n 30 "$log"
  fi
}
export -f fuzz
export seconds

report=build/fuzz/report
for program in build/fuzz/bin/fuzz_*; do
  if [ -x "$program" ]; then basename "$program"; fi
done | xargs -P "${JOBS:-$(nproc)}" -I {} bash -c 'fuzz {}' | tee "$report"

clean=$(grep -c '^fuzz: .* ok, ' "$report" || true)
failed=$(grep -c '^fuzz: .* FAILED, ' "$report" || true)
if [ $((clean + failed)) -eq 0 ]; then
  echo "fuzz: no target was built" >&2
  exit 1
fi
echo "fuzz: $clean of $((clean + failed)) targets clean after $seconds s each"
[ "$failed" -eq 0 ]
