#!/usr/bin/env bash
# Trains on Tiny Shakespeare: at most 1.55 nats per character on the last tenth of the text, after
# at most 60 minutes.
source "$(dirname "$0")/common.sh"
tools/install-deps.sh
cmake --preset release -DTRIREME_BUILD_TESTS=OFF >/dev/null
cmake --build --preset release --target example_character_model -j "$(nproc)"
program=$PWD/build/release/bin/character_model
cd "$out"
status=0
start=$SECONDS
"$program" >03-4-characters.log 2>&1 || status=1
seconds=$((SECONDS - start))
nats=$(value_of "test nats per character" 03-4-characters.log)
at_least 1.55 "${nats:-9}" || status=1
at_least 3600 "$seconds" || status=1
conclude "$status" "${nats:-none} nats per character after $seconds s (goals: 1.55, 3600)"
