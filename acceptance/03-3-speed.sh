#!/usr/bin/env bash
# Compares recurrent networks over ragged batches with PyTorch and PaddlePaddle, with 1 and 2
# threads: a sentiment LSTM, a custom LSTM step, GRU translation with attention, documents of
# sentences. Prints every ratio with its goal. The goal is met if the lowest share of a goal is 1 or
# more. Takes about half an hour.
source "$(dirname "$0")/common.sh"
tools/install-deps.sh
status=0
benchmarks/run.sh sentiment own_lstm translation documents --rounds 3 --json build/bench/03-3.json 2>&1 |
  tee "$out/03-3-speed.log" || status=1
share=$(value_of "lowest share of the goal" "$out/03-3-speed.log")
at_least "${share:-0}" 1 || status=1
grep -E '^\|.*\| (met|missed) \|$' "$out/03-3-speed.log" || status=1
conclude "$status" "lowest share of the goal ${share:-none} (results in build/bench/03-3.json)"
