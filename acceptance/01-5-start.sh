#!/usr/bin/env bash
# The second start of the demo's training: time to the first step, kernels compiled; then one Plan
# for batches of 1, 7, 64 and 100.
source "$(dirname "$0")/common.sh"
build_release
job=examples/jobs/fashion_conv.toml
export TRIREME_CACHE_DIR=$PWD/$out/start-cache
rm -rf "$TRIREME_CACHE_DIR"
run() { "$trireme" train $job --set train.max_steps=1 --timings --output "$out/start" >"$1" 2>&1; }
run "$out/start1.log"
status=0
best=9
for i in 1 2 3; do
  run "$out/start2.log"
  seconds=$(value_of "first step after" "$out/start2.log")
  at_least "$best" "${seconds:-9}" && best=${seconds:-9}
done
compiled=$(value_of "kernels compiled" "$out/start2.log")
at_least 0.2 "$best" || status=1
[ "${compiled:-1}" -eq 0 ] || status=1

sizes=0
for batch in 1 7 64 100; do
  dump=$out/dump-$batch
  rm -rf "$dump"
  TRIREME_DUMP=$dump "$trireme" train $job --set data.batch=$batch --set train.max_steps=2 \
    --timings --output "$out/start" >"$out/start-$batch.log" 2>&1 || status=1
  [ "$(value_of "kernels compiled" "$out/start-$batch.log")" = 0 ] && sizes=$((sizes + 1))
  cmp -s "$dump/plan.txt" "$out/dump-1/plan.txt" || status=1
done
[ "$sizes" -eq 4 ] || status=1
conclude "$status" "first step after $best s, ${compiled:-?} kernels compiled; $sizes of 4 batch sizes from one Plan"
