# Sourced by every script here. Changes to the root of the checkout and defines helpers.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec </dev/null
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1 NO_COLOR=1
trireme=build/release/bin/trireme
out=build/acceptance
mkdir -p "$out"
# Trireme's readers look for MNIST and the housing table in this folder.
export TRIREME_DATA=${TRIREME_DATA:-$PWD/../shared/data}
HOUSING_CSV=${HOUSING_CSV:-$TRIREME_DATA/housing/california_housing.csv.zst}

build_release() {
  tools/install-deps.sh
  cmake --preset release -DTRIREME_BUILD_TESTS=OFF >/dev/null
  cmake --build --preset release --target trireme_cli -j "$(nproc)"
}

# build_python LOG [TARGET...]: the Python package and other targets, with their packages.
build_python() {
  local log=$1
  shift
  tools/install-deps.sh --test >"$log"
  cmake --preset release -DTRIREME_UNITY=ON -DTRIREME_PYTHON=ON \
    -DPython_EXECUTABLE="$PWD/build/venv/bin/python" >/dev/null
  cmake --build --preset release -j "$(nproc)" --target trireme_python_package "$@" >>"$log"
}

at_least() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a + 0 >= b + 0) }'; }

# value_of LABEL FILE: prints the number after the last "LABEL: " in a log.
value_of() { sed -nE "s/.*$1: *([0-9.eE+-]+).*/\1/p" "$2" | tail -n 1; }

# conclude STATUS TEXT: prints the result as the last line and exits with STATUS.
conclude() {
  if [ "$1" -eq 0 ]; then echo "met: $2"; else echo "MISSED: $2"; fi
  exit "$1"
}

# full_ci MINUTES: runs .ci/run with an empty compiler cache. Fails if it takes more than MINUTES or
# skips a test. Sets `minutes` to its time.
full_ci() {
  local status=0 start=$SECONDS cache
  cache=$(mktemp -d)
  CCACHE_DIR=$cache .ci/run >"$out/ci.log" 2>&1 || status=1
  rm -rf "$cache"
  minutes=$(((SECONDS - start + 59) / 60))
  tail -n 10 "$out/ci.log"
  [ "$minutes" -le "$1" ] || status=1
  if grep -h '\*\*\*Skipped' build/ci/*.log; then status=1; fi  # for example without Slurm
  return "$status"
}

# show_quality NAME MINUTES: runs full_ci, the conformance tables, the sanitizers and every fuzz
# target for a minute.
show_quality() {
  local name=$1 status=0
  full_ci "$2" || status=1
  acceptance/01-3-conformance.sh | tee "$out/$name-conformance.log" || status=1
  acceptance/01-4-sanitizers.sh | tee "$out/$name-sanitizers.log" || status=1
  conclude "$status" "CI $minutes minutes; $(tail -n 1 "$out/$name-conformance.log"); $(tail -n 1 "$out/$name-sanitizers.log")"
}
