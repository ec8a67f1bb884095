#!/usr/bin/env bash
# Compares the arena with the sum of the sizes of all values (trireme inspect). Then trains shortly
# with 1 thread, with 2 threads and without memory planning: the weights must have the same bits.
source "$(dirname "$0")/common.sh"
build_release
job=examples/jobs/fashion_conv.toml
status=0

"$trireme" inspect $job --batch 64 >"$out/inspect.txt"
line=$(grep -E '^training step .*arena' "$out/inspect.txt" || true)
echo "$line"
ratio=$(sed -nE 's/.*arena ([0-9.]+) MB .*all values of the Program ([0-9.]+) MB.*/\1 \2/p' <<<"$line" |
  awk '{ printf "%.2f", $2 / $1 }')
at_least "${ratio:-0}" 2 || status=1

weights() {
  "$trireme" train $job --set train.epochs=1 --set data.limit=6400 --set data.test_limit=256 \
    --no-sheet --quiet --output "$out/memory-$1" "${@:2}" >"$out/memory-$1.log" 2>&1
}
weights one --threads 1 || status=1
weights two --threads 2 || status=1
weights unplanned --threads 1 --no-memory-planning || status=1
equal=1
for other in two unplanned; do
  if cmp "$out/memory-one/weights.safetensors" "$out/memory-$other/weights.safetensors"; then
    equal=$((equal + 1))
  else
    status=1
  fi
done
conclude "$status" "all values ${ratio:-?}x the arena; $equal of 3 trainings end with the same bits"
