#!/usr/bin/env bash
# Compares with the peers: training of ResNet-20, Transformer and DeepFM, an elementwise chain, Adam
# alone, prediction with ResNet-18 and an MLP, memory, compile time and start. Prints every ratio
# with its goal. The goal is met if the lowest share of a goal is 1 or more. Takes about 45 minutes.
source "$(dirname "$0")/common.sh"
tools/install-deps.sh
status=0
benchmarks/run.sh resnet20 transformer deepfm elementwise adam resnet18_predict mlp_predict start \
  --json build/bench/02-3.json 2>&1 | tee "$out/02-3-speed.log" || status=1
share=$(value_of "lowest share of the goal" "$out/02-3-speed.log")
at_least "${share:-0}" 1 || status=1
grep -E '^\|.*\| (met|missed) \|$' "$out/02-3-speed.log" || status=1
conclude "$status" "lowest share of the goal ${share:-none} (results in build/bench/02-3.json)"
