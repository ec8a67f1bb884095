#!/usr/bin/env bash
# Measures all-reduce of 16 MB of float32 with 2 and 4 processes on this machine: at least 0.95
# times the speed of Gloo, and at least the speed of OpenMPI over TCP. The three run in turn in the
# same processes, so the ratios of a round are more reliable than its times. The median of all
# rounds counts.
source "$(dirname "$0")/common.sh"
tools/install-deps.sh --bench
cmake --preset release -DTRIREME_BUILD_TESTS=OFF >/dev/null
cmake --build --preset release --target all_reduce -j "$(nproc)"
status=0
: >"$out/04-4-all-reduce.json"
for processes in 2 4; do
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --oversubscribe --bind-to none \
    --mca btl tcp,self --mca mpi_yield_when_idle 1 -n "$processes" \
    build/release/bin/all_reduce 16 21 | tee -a "$out/04-4-all-reduce.json"
done
# ratio ENGINE PROCESSES
ratio() {
  sed -nE "s/.*\"engine\": \"$1\", \"processes\": $2,.*\"trireme_is_faster_by\": ([0-9.e+-]+)}.*/\1/p" \
    "$out/04-4-all-reduce.json"
}
text=""
for processes in 2 4; do
  gloo=$(ratio gloo "$processes")
  mpi=$(ratio mpi "$processes")
  at_least "${gloo:-0}" 0.95 || status=1
  at_least "${mpi:-0}" 1.0 || status=1
  text+="; $processes processes: ${gloo:-none}x Gloo (at least 0.95), ${mpi:-none}x OpenMPI (at least 1)"
done
conclude "$status" "all-reduce of 16 MB${text/;/:}"
