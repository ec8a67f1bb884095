#!/usr/bin/env bash
# The arena against the sum of the values' sizes; losses with planning on and off, 1 and 2 threads.
source "$(dirname "$0")/common.sh"
build_release
job=examples/jobs/fashion_conv.toml
losses() { "$trireme" train $job --set train.max_steps=200 --timings --log-every 1 --seed 3 \
  --output "$out/memory" "${@:2}" >"$out/$1.log" 2>&1; grep -oE 'loss [0-9a-fx.+-]+' "$out/$1.log" >"$out/$1.loss"; }
TRIREME_NUM_THREADS=1 losses planned1
TRIREME_NUM_THREADS=2 losses planned2
TRIREME_NUM_THREADS=1 losses unplanned --no-memory-planning
arena=$(value_of "arena bytes" "$out/planned1.log")
sum=$(value_of "values bytes" "$out/planned1.log")
status=0
[ -s "$out/planned1.loss" ] || status=1
cmp "$out/planned1.loss" "$out/planned2.loss" || status=1
cmp "$out/planned1.loss" "$out/unplanned.loss" || status=1
ratio=$(awk -v a="${arena:-0}" -v b="${sum:-0}" 'BEGIN { printf "%.2f", a > 0 ? b / a : 0 }')
at_least "$ratio" 2 || status=1
conclude "$status" "arena ${arena:-?} bytes, values ${sum:-?} bytes, ratio $ratio; $(wc -l <"$out/planned1.loss") losses compared"
