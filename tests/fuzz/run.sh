#!/bin/sh
# run.sh PROGRAM NAME DIRECTORY: fuzzes from the seeds of NAME for $TRIREME_FUZZ_SECONDS seconds. New
# inputs and findings stay below DIRECTORY; a finding is repeated with: PROGRAM FILE
set -eu
program=$1
name=$2
work=$3/$name
here=$(dirname "$0")

mkdir -p "$work/grown" "$work/findings"
python3 "$here/make_seeds.py" "$name" "$work/seeds"
exec "$program" -max_total_time="${TRIREME_FUZZ_SECONDS:-10}" -timeout=10 -rss_limit_mb=2048 \
  -max_len=16384 -print_final_stats=1 -artifact_prefix="$work/findings/" \
  "$work/grown" "$work/seeds" $(ls -d "$here/corpus/$name" 2>/dev/null)
