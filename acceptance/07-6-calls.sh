#!/usr/bin/env bash
# CALLS (10^6) random calls of the functions of the Python package: results or errors, no crash; and
# the package and the Python examples pass mypy --strict.
source "$(dirname "$0")/common.sh"
build_python "$out/07-6-calls.log"
status=0
calls=${CALLS:-1000000} jobs=$(nproc)
for ((job = 0; job < jobs; job++)); do
  PYTHONPATH=build/release/python build/venv/bin/python python/tests/random_calls.py \
    $((calls / jobs)) $((job + 1)) >"$out/07-6-calls-$job.log" 2>&1 &
done
for process in $(jobs -p); do wait "$process" || status=1; done
tail -qn 1 "$out"/07-6-calls-*.log
made=$(sed -nE 's/^([0-9]+) calls.*/\1/p' "$out"/07-6-calls-*.log | awk '{ n += $1 } END { print n + 0 }')
types=$(MYPYPATH=build/release/python build/venv/bin/python -m mypy --strict \
  --cache-dir "$out/mypy" build/release/python/trireme examples/{gan,siamese,vae,clicks_by_processes}.py | tail -n 1) || status=1
conclude "$status" "$made calls without a crash; $types"
