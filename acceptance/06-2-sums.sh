#!/usr/bin/env bash
# The largest relative error of sums of 10^8 f32 numbers along each axis of a matrix, of means and
# of batch statistics is at most 1e-6. Their speed is at least 0.97 of that of commit 802a32a, side
# by side in one run, with 2 threads. Builds both. ROUNDS (5) sets the number of measurements.
source "$(dirname "$0")/common.sh"
tools/install-deps.sh
old=$PWD/build/802a32a
[ -d "$old" ] || git worktree add --detach "$old" 802a32a
cp benchmarks/sum_case.cc "$old/benchmarks/"  # which did not have it
for checkout in "$old" "$PWD"; do
  (
    cd "$checkout"
    CCACHE_BASEDIR=$checkout
    cmake --preset release -DTRIREME_BUILD_TESTS=OFF >/dev/null
    cmake --build --preset release -j "$(nproc)" --target sum_case >/dev/null
  )
done
log=$out/06-2-sums.log
python3 - "$old/build/release" build/release "${ROUNDS:-5}" <<'EOF' | tee "$log"
import json, statistics, subprocess, sys

old, new, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
cases = subprocess.run([f"{new}/bin/sum_case"], capture_output=True, text=True).stderr
worst, slowest = 0, 9
for case in cases.split("cases:")[1].split():
    ratios, errors = [], {}
    for number in range(rounds):
        seconds = {}
        for build in (old, new) if number % 2 == 0 else (new, old):
            done = subprocess.run([f"{build}/bin/sum_case", case, "2", "3"], check=True,
                                  capture_output=True, text=True)
            result = json.loads(done.stdout)
            seconds[build], errors[build] = result["seconds"], result["error"]
        ratios.append(seconds[old] / seconds[new])
    ratio = statistics.median(ratios)
    worst, slowest = max(worst, errors[new]), min(slowest, ratio)
    print(f"{case:24} speed {ratio:.3f}  error {errors[old]:.1e} -> {errors[new]:.1e}", flush=True)
print(f"largest error: {worst:.2e}")
print(f"lowest speed: {slowest:.3f}")
EOF
status=0
error=$(value_of "largest error" "$log")
speed=$(value_of "lowest speed" "$log")
at_least 1e-6 "${error:-1}" || status=1
at_least "${speed:-0}" 0.97 || status=1
conclude "$status" "largest error $error, new / old speed $speed"
