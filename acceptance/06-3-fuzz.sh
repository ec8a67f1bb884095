#!/usr/bin/env bash
# Fuzzing under AddressSanitizer and UBSan without a finding: PARSER_RUNS (10^7) executions of all
# targets that parse, in rounds of SECONDS_EACH (60), and PROGRAM_RUNS (10^5) Programs that are
# compiled and run.
source "$(dirname "$0")/common.sh"
tools/install-deps.sh --test
status=0
mapfile -t parsers < <(sed -nE 's/^trireme_fuzz\(([a-z_0-9]+) .*/\1/p' tests/fuzz/CMakeLists.txt |
  grep -vx program_run)
parser_runs=0
findings=0
while [ "$parser_runs" -lt "${PARSER_RUNS:-10000000}" ] && [ "$status" -eq 0 ]; do
  tools/fuzz.sh "${SECONDS_EACH:-60}" "${parsers[@]}" || status=1
  runs=$(sed -nE 's/^fuzz: .* ok, ([0-9]+) runs$/\1/p' build/fuzz/report |
    awk '{ n += $1 } END { print n + 0 }')
  parser_runs=$((parser_runs + runs))
  findings=$((findings + $(grep -c ' FAILED, ' build/fuzz/report || true)))
  echo "$parser_runs executions of ${#parsers[@]} parsers"
done

# Each process has a folder of its own for what it discovers. Inputs that are no Programs, or whose
# feeds would be too large, are not counted.
tools/fuzz.sh 1 program_run || status=1
program_runs=0
for ((round = 1; program_runs < ${PROGRAM_RUNS:-100000} && status == 0; round++)); do
  processes=()
  for ((i = 0; i < $(nproc); i++)); do
    found=build/fuzz/corpus/fuzz_program_run_$i
    mkdir -p "$found"
    build/fuzz/bin/fuzz_program_run "$found" tests/fuzz/corpus/program_run \
      -dict=build/fuzz/dictionaries/program_run.dict -max_total_time=300 -timeout=60 \
      -rss_limit_mb=4096 -artifact_prefix="build/fuzz/findings/fuzz_program_run-" \
      -seed=$((round * 100 + i)) >"$out/06-3-fuzz-$i.log" 2>&1 &
    processes+=($!)
  done
  for process in "${processes[@]}"; do
    wait "$process" || {
      status=1
      findings=$((findings + 1))
    }
  done
  runs=$(sed -n 's/^Programs compiled and run: //p' "$out"/06-3-fuzz-[0-9]*.log |
    awk '{ n += $1 } END { print n + 0 }')
  program_runs=$((program_runs + runs))
  echo "$program_runs Programs compiled and run"
done
conclude "$status" "$parser_runs executions of ${#parsers[@]} parsers, $program_runs Programs compiled and run, $findings findings"
