#!/usr/bin/env bash
# Compares two small networks on Fashion-MNIST with every peer. The result is the lowest share of a
# goal that was reached; 1 or more meets the goal.
source "$(dirname "$0")/common.sh"
tools/install-deps.sh
benchmarks/run.sh mlp_fashion lenet_fashion 2>&1 | tee "$out/bench.log"
share=$(value_of "lowest share of the goal" "$out/bench.log")
status=0
at_least "${share:-0}" 1 || status=1
conclude "$status" "lowest share of the goal ${share:-none} (results in build/bench/results.json)"
