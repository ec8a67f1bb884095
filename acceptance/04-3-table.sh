#!/usr/bin/env bash
# Measures a sparse table of 10^7 rows of 16 floats on one core, with the class that servers use.
# Batches have 13,312 ids, uniform or by Zipf's law. Goals: lookups of at least 10 M rows/s, AdaGrad
# updates of at least 6 M rows/s. Other programs can only make it slower, so the best of the repeats
# counts; all are printed.
source "$(dirname "$0")/common.sh"
tools/install-deps.sh
cmake --preset release -DTRIREME_BUILD_TESTS=OFF >/dev/null
cmake --build --preset release --target sparse_table -j "$(nproc)"
status=0
fast() { nice -n "$([ "$(id -u)" -eq 0 ] && echo -15 || echo 0)" "$@"; }
fast build/release/bin/sparse_table 10000000 7 | tee "$out/04-3-table.json"
# lowest CASE: prints the lower speed of the two kinds of ids.
lowest() {
  sed -nE "s/.*\"case\": \"$1\", \"ids\": \"(uniform|zipf)\".*\"million_rows_per_s\": ([0-9.e+]+),.*/\2/p" \
    "$out/04-3-table.json" | sort -g | head -n 1
}
lookups=$(lowest lookup)
updates=$(lowest update)
at_least "${lookups:-0}" 10 || status=1
at_least "${updates:-0}" 6 || status=1
conclude "$status" "lookups ${lookups:-none} (at least 10), AdaGrad updates ${updates:-none} (at least 6) million rows/s; limit of the memory with random accesses: lookups $(lowest 'limit of lookup'), updates $(lowest 'limit of update') million rows/s"
