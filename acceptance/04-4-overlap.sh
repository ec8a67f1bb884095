#!/usr/bin/env bash
# Measures all-reduce of a convolutional network's gradients over a link of 1 Gbit/s. Exchanging
# them in buckets during backward must hide at least half of the time that the exchange after
# backward takes. Two processes with 1 thread each run in two network namespaces
# (benchmarks/overlap.sh). Steps without exchange, with the exchange after backward and with the
# exchange during it run in turn. The medians of 40 rounds count, of the time that each takes longer
# than a step without exchange.
source "$(dirname "$0")/common.sh"
tools/install-deps.sh
cmake --preset release -DTRIREME_BUILD_TESTS=OFF >/dev/null
cmake --build --preset release --target overlap -j "$(nproc)"
code=0
benchmarks/overlap.sh 40 >"$out/04-4-overlap.json" || code=$?
cat "$out/04-4-overlap.json"
[ $code -ne 77 ] || conclude 1 "nothing was measured: this machine has no network namespaces"
# number KEY [PATTERN]: prints the value of KEY in the last line that matches PATTERN.
number() { sed -nE "s/.*${2:-}.*\"$1\": ([0-9.e+-]+).*/\1/p" "$out/04-4-overlap.json" | tail -n 1; }
share=$(number hidden_share)
status=$code
at_least "${share:-0}" 0.5 || status=1
conclude "$status" "overlap hides ${share:-none} of the exchange of $(number parameters_mb) MB over $(number link_gbit_per_s) Gbit/s (at least 0.5): a step takes $(number ms alone) ms without exchange, $(number ms exchange_after) ms with the exchange after backward, $(number ms exchange_during) ms with the exchange during backward"
