#!/usr/bin/env bash
# The two small networks on Fashion-MNIST against every peer, and the share of its goals that the worst
# row reaches (1 or more is met).
source "$(dirname "$0")/common.sh"
tools/install-deps.sh
benchmarks/run.sh mlp_fashion lenet_fashion 2>&1 | tee "$out/bench.log"
share=$(value_of "lowest share of the goal" "$out/bench.log")
status=0
at_least "${share:-0}" 1 || status=1
conclude "$status" "lowest share of the goal ${share:-none} (figures in build/bench/results.json)"
