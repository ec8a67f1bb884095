#!/usr/bin/env bash
# All-reduce of a convolutional network's gradients over a link of 1 Gbit/s: exchanging them in buckets while backward still runs
# hides at least half of the time that exchanging them after it takes. Two processes of 1 thread each in two network namespaces
# (benchmarks/overlap.sh); steps alone, with the exchange after backward and during it take turns, and the medians of 40 rounds count,
# of what each took more than its steps alone.
source "$(dirname "$0")/common.sh"
tools/install-deps.sh
cmake --preset release -DTRIREME_BUILD_TESTS=OFF >/dev/null
cmake --build --preset release --target overlap -j "$(nproc)"
code=0
benchmarks/overlap.sh 40 >"$out/04-4-overlap.json" || code=$?
cat "$out/04-4-overlap.json"
[ $code -ne 77 ] || conclude 1 "no network namespaces here: nothing was measured"
# number KEY [LINE]: of the line that has it
number() { sed -nE "s/.*${2:-}.*\"$1\": ([0-9.e+-]+).*/\1/p" "$out/04-4-overlap.json" | tail -n 1; }
share=$(number hidden_share)
status=$code
at_least "${share:-0}" 0.5 || status=1
conclude "$status" "overlap hides ${share:-none} of the exchange of $(number parameters_mb) MB over $(number link_gbit_per_s) Gbit/s (at least 0.5): $(number ms alone) ms a step alone, $(number ms exchange_after) ms with the exchange after backward, $(number ms exchange_during) ms during it"
