#!/usr/bin/env bash
# Moves tables from 4 servers to 3 and back. From files: digests of the tables must be equal. Live,
# while trainers count records and with a second table of 10^6 rows of 16 floats: each record must
# be counted exactly once, digests must be equal, at most 26% of the rows may move each time, and no
# slot may be refused for more than 50 ms.
source "$(dirname "$0")/common.sh"
tools/install-deps.sh --test
cmake --preset dev >/dev/null
cmake --build --preset dev -j "$(nproc)" --target distributed_test
status=0
TRIREME_ROWS=1000000 build/dev/bin/distributed_test \
  --gtest_filter='*FourServersToThree*:*OnAnotherNumber*:*IntoAnotherNumberOfServers*' >"$out/04-5.log" 2>&1 || status=1
moves=$(grep -cE '^[34] servers: 4096 slots moved' "$out/04-5.log" || true)
longest=$(sed -nE 's/.*none was refused for more than ([0-9]+) ms.*/\1/p' "$out/04-5.log" | sort -g | tail -n 1)
moved=$(sed -nE 's/.*slots moved, with ([0-9.]+)% of the rows.*/\1/p' "$out/04-5.log" | sort -g | tail -n 1)
passed=$(sed -nE 's/.*PASSED *\] ([0-9]+) tests.*/\1/p' "$out/04-5.log")
grep -q ' OK \] .*IntoAnotherNumberOfServers' "$out/04-5.log" || status=1
[ "${passed:-0}" -ge 5 ] && [ "$moves" -eq 2 ] && at_least 50 "${longest:-51}" && at_least 26 "${moved:-100}" || status=1
conclude "$status" "${passed:-0} tests; live at most ${moved:-?}% of the rows moved (26), no slot refused for more than ${longest:-?} ms (50); digests equal, also from files"
