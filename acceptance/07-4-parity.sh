#!/usr/bin/env bash
# Every item of docs/reference/parity.md exists in C++, in Python and, where it makes sense, in job
# files, and has an independent oracle. Causal attention over 16,384 positions trains at least 1.5
# times as fast in blocks as with a matrix of scores (ROUNDS, 3, side by side), and the memory that
# it needs from 8,192 to 16,384 positions is at most 3 times that from 4,096 to 8,192: linear growth
# is 2 times, quadratic 4 times.
source "$(dirname "$0")/common.sh"
build_python "$out/07-4-build.log" long_attention
status=0
PYTHONPATH=build/release/python build/venv/bin/python tools/check_parity.py --open |
  tee "$out/07-4-parity.log" || status=1

run() { build/release/bin/long_attention "$1" "$2" 1 1 | tee -a "$out/07-4-attention.log"; }
# field NAME: of the JSON line that is read.
field() { sed -n "s/.*\"$1\": \([0-9.e+-]*\).*/\1/p"; }
median() { sort -g | awk '{ n[NR] = $1 } END { print n[int((NR + 1) / 2)] }'; }
: >"$out/07-4-attention.log"
for ((round = 0; round < ${ROUNDS:-3}; round++)); do
  run masked 16384 || status=1
  for steps in 4096 8192 16384; do run blockwise $steps || status=1; done
done
of() { grep "\"form\": \"$1\", \"steps\": $2," "$out/07-4-attention.log" | field "$3" | median; }
ratio=$(awk -v a="$(of masked 16384 seconds_per_step)" -v b="$(of blockwise 16384 seconds_per_step)" \
  'BEGIN { printf "%.2f", a / b }')
at_least "$ratio" 1.5 || status=1
growth=$(awk -v a="$(of blockwise 4096 peak_mb)" -v b="$(of blockwise 8192 peak_mb)" \
  -v c="$(of blockwise 16384 peak_mb)" 'BEGIN { printf "%.2f", (c - b) / (b - a) }')
at_least 3 "$growth" || status=1
conclude "$status" "$(tail -n 1 "$out/07-4-parity.log"); 16,384 positions: $ratio times as fast in \
blocks, $(of blockwise 16384 peak_mb) MB instead of $(of masked 16384 peak_mb), growth $growth"
