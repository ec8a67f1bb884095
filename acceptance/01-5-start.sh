#!/usr/bin/env bash
# Measures the second start of the demo's training: time to the first step, and kernels compiled.
# Then checks that one Plan serves batches of 1, 7, 64 and 100.
source "$(dirname "$0")/common.sh"
build_release
job=examples/jobs/fashion_conv.toml
export TRIREME_CACHE_DIR=$PWD/$out/start-cache
rm -rf "$TRIREME_CACHE_DIR"

# start LOG OPTION...: runs a short training that prints the timings of its start.
start() {
  "$trireme" train $job --set train.schedule=constant --set train.epochs=1 \
    --set data.test_limit=256 --time-to-first-step \
    --no-sheet --output "$out/start" "${@:2}" >"$1" 2>&1
}
first_step() { sed -nE 's/.*first step after ([0-9.]+) s.*/\1/p' "$1"; }
compiled() { sed -nE 's/.*first step after .*: ([0-9]+) kernels compiled.*/\1/p' "$1"; }

start "$out/start-first.log"
echo "first start: $(first_step "$out/start-first.log") s, $(compiled "$out/start-first.log") kernels compiled"
status=0
best=9
for i in 1 2 3; do
  start "$out/start-$i.log"
  seconds=$(first_step "$out/start-$i.log")
  if at_least "$best" "${seconds:-9}"; then best=${seconds:-9}; fi
done
kernels=$(compiled "$out/start-3.log")
at_least 0.2 "$best" || status=1
[ "${kernels:-1}" -eq 0 ] || status=1

same=0
for batch in 1 7 64 100; do
  dump=$out/dump-$batch
  rm -rf "$dump"
  TRIREME_DUMP=$dump start "$out/start-batch-$batch.log" --set data.batch=$batch \
    --set data.limit=400 || status=1
  if [ "$(compiled "$out/start-batch-$batch.log")" = 0 ] && [ -n "$(ls -A "$dump")" ] &&
      diff -rq "$dump" "$out/dump-1"; then
    same=$((same + 1))
  fi
done
[ "$same" -eq 4 ] || status=1
conclude "$status" "first step after $best s, ${kernels:-?} kernels compiled; $same of 4 batch sizes from one Plan"
