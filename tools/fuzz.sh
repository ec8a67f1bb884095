#!/usr/bin/env bash
# Builds the libFuzzer targets of tests/fuzz (part of the asan preset) and runs each for SECONDS (default 10):
#   tools/fuzz.sh [SECONDS]
# A finding is left as build/fuzz/findings/<target>-<hash>; run the target on that file to see it.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-10}

if [ ! -f tests/fuzz/CMakeLists.txt ]; then
  echo "fuzz: no tests/fuzz, nothing to run"
  exit 0
fi
cmake --preset asan >/dev/null
cmake --build --preset asan --target fuzz_targets -j "${JOBS:-$(nproc)}"

failed=0
ran=0
mkdir -p build/fuzz/findings
for program in build/asan/bin/fuzz_*; do
  [ -x "$program" ] || continue
  name=$(basename "$program")
  found=build/fuzz/corpus/$name  # what libFuzzer discovers, kept between runs
  mkdir -p "$found"
  seeds=()
  if [ -d "tests/fuzz/corpus/${name#fuzz_}" ]; then
    seeds=("tests/fuzz/corpus/${name#fuzz_}")
  fi
  ran=$((ran + 1))
  if "$program" "$found" "${seeds[@]}" -max_total_time="$seconds" -timeout=10 \
      -rss_limit_mb=2048 -artifact_prefix="build/fuzz/findings/$name-" \
      -print_final_stats=1 </dev/null >"build/fuzz/$name.log" 2>&1; then
    echo "fuzz: $name ok, $(sed -n 's/stat::number_of_executed_units: *//p' "build/fuzz/$name.log") runs"
  else
    echo "fuzz: $name FAILED, the end of build/fuzz/$name.log:"
    tail -n 30 "build/fuzz/$name.log"
    failed=$((failed + 1))
  fi
done
if [ "$ran" -eq 0 ]; then
  echo "fuzz: no target was built" >&2
  exit 1
fi
echo "fuzz: $((ran - failed)) of $ran targets clean after $seconds s each"
[ "$failed" -eq 0 ]
