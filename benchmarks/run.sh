#!/usr/bin/env bash
# run.sh [CASE...] [--rounds N] [--seconds S] [--threads N...] [--page]: compares Trireme with its
# peers on this machine. Builds the benchmarks, installs the peers, measures in rounds, writes
# build/bench/results.json and prints the tables. --page also writes docs/reference/performance.md.
# --help lists all options and cases.
set -euo pipefail
cd "$(dirname "$0")/.."
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
cmake --preset release -DTRIREME_BUILD_TESTS=OFF >/dev/null
cmake --build --preset release --target benchmarks -j "${JOBS:-$(nproc)}"
benchmarks/compare/setup.sh
exec "${PEERS:-build/peers/venv}/bin/python" benchmarks/compare/compare.py "$@"
