#!/usr/bin/env bash
# aarch64.sh SOURCE_DIR BUILD_DIR: a LeNet compiled for x86-64 and for aarch64 gives the same
# scores, there under qemu, up to BOUND; in bytes (trireme quantize) up to BYTES_BOUND, with and
# without dot products of bytes. The inference library and the example in C are cross built.
set -euo pipefail
source=$1 build=$2
BOUND=1e-5        # of scores from 0 to 1: sums are added in another order
BYTES_BOUND=3e-7  # sums of bytes are exact; only those of softmax are added in another order
for tool in aarch64-linux-gnu-g++ qemu-aarch64; do
  if ! command -v "$tool" >/dev/null; then
    echo "skipped: there is no $tool; run tools/install-deps.sh --test"
    exit 77
  fi
done
work=$build/cross
rm -rf "$work"
mkdir -p "$work"

(cd "$source" && cmake --preset aarch64 >/dev/null &&
  cmake --build --preset aarch64 -j "${JOBS:-$(nproc)}" | tail -n 1)
arm=$source/build/aarch64
readelf -h "$arm/bin/c_predict" | grep -q AArch64

trireme=$build/bin/trireme
"$trireme" train "$source/examples/jobs/fashion_lenet.toml" --set train.max_steps=100 \
  --set data.test_limit=100 --no-sheet --quiet -o "$work/lenet" >/dev/null
here=x86-64-v3
[ "$(uname -m)" = x86_64 ] || here=native
"$trireme" compile "$work/lenet" --target "$here" -o "$work/here"
"$trireme" compile "$work/lenet" --target aarch64 -o "$work/aarch64"
/usr/bin/python3 "$source/tests/cross/pictures.py" "$work" 16
mapfile -t pictures < <(ls "$work"/*.pgm)
"$build/bin/c_predict" --scores "$work/here" "${pictures[@]}" >"$work/here.txt"
for threads in 1 2; do
  qemu-aarch64 -L /usr/aarch64-linux-gnu "$arm/bin/c_predict" --threads $threads --scores \
    "$work/aarch64" "${pictures[@]}" >"$work/aarch64-$threads.txt"
done
cmp "$work/aarch64-1.txt" "$work/aarch64-2.txt"

"$trireme" quantize "$work/lenet" --calibrate fashion_mnist/train --examples 64 -o "$work/lenet-i8" >/dev/null
for target in "$here" aarch64 armv8.2-dotprod; do
  "$trireme" compile "$work/lenet-i8" --target "$target" -o "$work/i8-$target" >/dev/null
done
"$build/bin/c_predict" --scores "$work/i8-$here" "${pictures[@]}" >"$work/i8-here.txt"
for target in aarch64 armv8.2-dotprod; do
  qemu-aarch64 -cpu max -L /usr/aarch64-linux-gnu "$arm/bin/c_predict" --scores \
    "$work/i8-$target" "${pictures[@]}" >"$work/i8-$target.txt"
done

compare() {  # compare WHAT HERE THERE BOUND
  /usr/bin/python3 - "$@" <<'PY'
import sys

def scores(path):
    return [[float(word) for word in line.split()[1:]] for line in open(path)]

what, here, there, bound = sys.argv[1], scores(sys.argv[2]), scores(sys.argv[3]), float(sys.argv[4])
assert len(here) == len(there) == 16 and all(len(row) == 10 for row in here + there)
assert all(abs(sum(row) - 1) < 1e-5 for row in here)
apart = max(abs(a - b) for x, y in zip(here, there) for a, b in zip(x, y))
print(f"{what} and x86-64 differ by: {apart:.3g} (at most {bound:g} is allowed)")
sys.exit(apart > bound)
PY
}
compare aarch64 "$work/here.txt" "$work/aarch64-1.txt" "$BOUND"
for target in aarch64 armv8.2-dotprod; do
  compare "bytes on $target" "$work/i8-here.txt" "$work/i8-$target.txt" "$BYTES_BOUND"
done
