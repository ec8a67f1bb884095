#!/usr/bin/env bash
# The largest relative error of sums of 10^8 f32 numbers along each axis of a matrix, of means and
# of batch statistics is at most 1e-6. Their speed is at least 0.97 of that of commit 802a32a, side
# by side in one run, with 2 threads. Builds both. ROUNDS (7) sets the number of measurements, as in
# benchmarks/side_by_side.py.
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
python3 - "$old/build/release" build/release "${ROUNDS:-7}" <<'EOF' | tee "$log"
import argparse, json, statistics, subprocess, sys

sys.path.append("benchmarks")
import side_by_side

options = argparse.Namespace(old=sys.argv[1], new=sys.argv[2], rounds=int(sys.argv[3]))
cases = subprocess.run([f"{options.new}/bin/sum_case"], capture_output=True, text=True).stderr
worst, slowest = 0, 9
for case in cases.split("cases:")[1].split():
    errors = {}

    def speed(build):
        done = subprocess.run([f"{build}/bin/sum_case", case, "2", "3"], check=True,
                              capture_output=True, text=True)
        result = json.loads(done.stdout)
        errors[build] = result["error"]
        return 1 / result["seconds"]

    rounds = side_by_side.in_rounds(speed, options)
    old, new = side_by_side.speeds(rounds)
    worst, slowest = max(worst, errors[options.new]), min(slowest, new / old)
    print(f"{case:24} speed {new / old:.3f} "
          f"({len(rounds)}: {statistics.median(b / a for a, b in rounds):.3f})  "
          f"error {errors[options.old]:.1e} -> {errors[options.new]:.1e}", flush=True)
print(f"largest error: {worst:.2e}")
print(f"lowest speed: {slowest:.3f}")
EOF
status=0
error=$(value_of "largest error" "$log")
speed=$(value_of "lowest speed" "$log")
at_least 1e-6 "${error:-1}" || status=1
at_least "${speed:-0}" 0.97 || status=1
conclude "$status" "largest error $error, new / old speed $speed"
