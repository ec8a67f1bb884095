#!/usr/bin/env bash
# Builds the libFuzzer targets of tests/fuzz (preset fuzz) and runs each for SECONDS (default 10):
#   tools/fuzz.sh [SECONDS]          every target
#   tools/fuzz.sh SECONDS NAME...    only these
#   KEEP=1 tools/fuzz.sh SECONDS     puts the smallest set of inputs that reaches the same code into
#                                    tests/fuzz/corpus: at most 5 MB for all targets, and 100 files
#                                    for each
# A finding is left as build/fuzz/findings/<target>-<hash>; run the target on that file to see it.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-10}
shift || true
source tools/sanitizer_options.sh

if [ ! -f tests/fuzz/CMakeLists.txt ]; then
  echo "fuzz: no tests/fuzz, nothing to run"
  exit 0
fi
cmake --preset fuzz >/dev/null
targets=(fuzz_targets)
[ $# -eq 0 ] || targets=("${@/#/fuzz_}")
cmake --build --preset fuzz --target "${targets[@]}" -j "${JOBS:-$(nproc)}"

mkdir -p build/fuzz/findings
tests/fuzz/make_dictionaries.py build/fuzz/dictionaries

# fuzz NAME: one target, into build/fuzz/NAME.log; a line of what came of it.
fuzz() {
  local name=$1 log=build/fuzz/$1.log found=build/fuzz/corpus/$1 seeds=() words=()
  mkdir -p "$found"  # what libFuzzer discovers, kept between runs
  if [ -d "tests/fuzz/corpus/${name#fuzz_}" ]; then
    seeds=("tests/fuzz/corpus/${name#fuzz_}")
  fi
  if [ -f "build/fuzz/dictionaries/${name#fuzz_}.dict" ]; then
    words=("-dict=build/fuzz/dictionaries/${name#fuzz_}.dict")
  fi
  if "build/fuzz/bin/$name" "$found" "${seeds[@]}" "${words[@]}" -max_total_time="$seconds" -timeout=10 \
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

programs() {
  if [ $# -gt 0 ]; then
    printf 'fuzz_%s\n' "$@"
  else
    for program in build/fuzz/bin/fuzz_*; do
      if [ -x "$program" ]; then basename "$program"; fi
    done
  fi
}

# keep NAME: adds what libFuzzer has found to the seeds of a target, without inputs that reach no
# code of their own, smallest first, up to 100 files and the target's share of 5 MB.
keep() {
  local name=$1 share=$2 found=build/fuzz/corpus/$1 seeds=tests/fuzz/corpus/${1#fuzz_}
  local merged=build/fuzz/merged/$1 used file
  rm -rf "$merged"
  mkdir -p "$merged" "$seeds"
  # Inputs of the first folder stay, so the seeds come first.
  cp "$seeds"/* "$merged"/ 2>/dev/null || true
  "build/fuzz/bin/$name" -merge=1 "$merged" "$found" </dev/null >"build/fuzz/$name.merge.log" 2>&1 || return 0
  used=$(find "$seeds" -type f -printf '%s\n' | awk '{ n += $1 } END { print n + 0 }')
  while read -r size file; do
    [ -e "$seeds/$(basename "$file")" ] && continue
    [ $((used + size)) -le "$share" ] || break
    [ "$(find "$seeds" -type f | wc -l)" -lt 100 ] || break
    cp "$file" "$seeds/"
    used=$((used + size))
  done < <(find "$merged" -type f -printf '%s %p\n' | sort -n)
}

report=build/fuzz/report
programs "$@" | xargs -P "${JOBS:-$(nproc)}" -I {} bash -c 'fuzz {}' | tee "$report"

clean=$(grep -c '^fuzz: .* ok, ' "$report" || true)
failed=$(grep -c '^fuzz: .* FAILED, ' "$report" || true)
if [ $((clean + failed)) -eq 0 ]; then
  echo "fuzz: no target was built" >&2
  exit 1
fi
if [ -n "${KEEP:-}" ]; then
  for name in $(programs "$@"); do keep "$name" $((5000000 / $(programs | wc -l))); done
  echo "fuzz: tests/fuzz/corpus has $(find tests/fuzz/corpus -type f -printf '%s\n' | awk '{ n += $1 } END { print n }') bytes"
fi
echo "fuzz: $clean of $((clean + failed)) targets clean after $seconds s each"
[ "$failed" -eq 0 ]
