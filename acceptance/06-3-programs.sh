#!/usr/bin/env bash
# PROGRAMS (100000) random Programs without a finding, on all processors. The seeds begin at FROM
# (1). About an hour on 2 cores.
source "$(dirname "$0")/common.sh"
tools/install-deps.sh --test
cmake --preset release -DTRIREME_UNITY=ON -DTRIREME_BUILD_TESTS=ON >/dev/null
cmake --build --preset release -j "$(nproc)" --target differential >/dev/null
programs=${PROGRAMS:-100000} from=${FROM:-1} jobs=$(nproc)
share=$(((programs + jobs - 1) / jobs))
for ((job = 0; job < jobs; job++)); do
  build/release/bin/differential --from $((from + job * share)) --count "$share" \
    >"$out/06-3-programs-$job.log" 2>&1 &
done
status=0
wait_all=$(jobs -p)
for process in $wait_all; do wait "$process" || status=1; done
tail -qn 1 "$out"/06-3-programs-*.log
made=$(sed -n 's/^\([0-9]*\) Programs of.*/\1/p' "$out"/06-3-programs-*.log | awk '{ n += $1 } END { print n }')
found=$(sed -n 's/.*: \([0-9]*\) findings$/\1/p' "$out"/06-3-programs-*.log | awk '{ n += $1 } END { print n }')
conclude "$status" "$made Programs, $found findings"
