#!/usr/bin/env bash
# A parameter server that has one core to itself under the load of a CTR job (512 samples of 26 ids a step, rows of 16 floats, lookup
# and AdaGrad push, 63,488 dense parameters pulled and pushed), ids uniform and by a power law: at least 100,000 samples/s, which
# it takes while the core is full (0.9 at least); and so much for each core that it uses when trainers' own clients ask.
# Other programs only make it slower, so the best of the repeats counts; all are printed.
source "$(dirname "$0")/common.sh"
tools/install-deps.sh
cmake --preset release -DTRIREME_BUILD_TESTS=OFF >/dev/null
cmake --build --preset release --target parameter_server -j "$(nproc)"
status=0
fast() { nice -n "$([ "$(id -u)" -eq 0 ] && echo -15 || echo 0)" "$@"; }
: > "$out/04-3-server.json"
for _ in 1 2 3; do
  fast build/release/bin/parameter_server 1000000 3 2 | tee -a "$out/04-3-server.json"
done
# most FIGURE BY IDS: the best one.
most() {
  sed -nE "s/.*\"by\": \"$2\", \"ids\": \"$3\".*\"$1\": ([0-9.e+]+)[,}].*/\1/p" "$out/04-3-server.json" | sort -g | tail -n 1
}
text=""
for ids in uniform zipf; do
  sustained=$(most samples_per_s requests "$ids") cores=$(most server_cores requests "$ids")
  each=$(most samples_per_s_and_core trainers "$ids")
  at_least "${sustained:-0}" 100000 && at_least "${cores:-0}" 0.9 && at_least "${each:-0}" 100000 || status=1
  text+="; $ids ids ${sustained:-none} samples/s, ${cores:-none} of the core used, and ${each:-none} for each core by trainers' clients"
done
conclude "$status" "a server on one core (at least 100,000)${text/;/:}"
