#!/usr/bin/env bash
# Checks the inference library: its size with LeNet, the time from start to first prediction,
# ResNet-20 compared with the full library, and aarch64 (under qemu) compared with x86-64. The times
# of ResNet-20 are processor times, so that other load of the machine has little effect.
source "$(dirname "$0")/common.sh"
tools/install-deps.sh --test
build_release
cmake --build --preset release --target trireme_inference_shared example_c_predict inference \
  -j "$(nproc)"
work=$out/inference
rm -rf "$work"
mkdir -p "$work"
status=0

"$trireme" train examples/jobs/fashion_lenet.toml --set train.max_steps=200 \
  --set data.test_limit=100 --no-sheet --quiet -o "$work/lenet" >/dev/null
"$trireme" compile "$work/lenet" -o "$work/compiled"
/usr/bin/python3 tests/cross/pictures.py "$work" 16

strip -o "$work/libtrireme_inference.so" build/release/src/libtrireme_inference.so
library=$(stat -c %s "$work/libtrireme_inference.so")
model=$(cat "$work"/compiled/* | wc -c)
echo "needs: $(readelf -d "$work/libtrireme_inference.so" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | tr '\n' ' ')"
readelf -d "$work/libtrireme_inference.so" | grep -E 'NEEDED.*(LLVM|dnnl|blas)' && status=1
size=$(awk -v a="$library" -v b="$model" 'BEGIN { printf "%.2f", (a + b) / 1e6 }')
echo "library $library bytes, model $model bytes: $size MB"
at_least 5 "$size" || status=1

# The time of a whole process that prints one prediction: the best of 20.
start=$(/usr/bin/python3 - build/release/bin/c_predict "$work/compiled" "$work/00.pgm" <<'PY'
import os, subprocess, sys, time

def once():
    begin = time.perf_counter()
    process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0
    return (time.perf_counter() - begin) * 1e3, (usage.ru_utime + usage.ru_stime) * 1e3

runs = [once() for _ in range(20)]
print(f"{min(r[0] for r in runs):.1f} {min(r[1] for r in runs):.1f}")
PY
)
echo "start to first prediction: ${start% *} ms, processor ${start#* } ms"
at_least 20 "${start% *}" || status=1

worst=0
for arguments in "--batch 1 --threads 1" "--batch 32 --threads 1 --rounds 30"; do
  # shellcheck disable=SC2086
  build/release/bin/inference $arguments --directory "$work/resnet20" | tee "$work/resnet20.log"
  ratio=$(value_of ratio "$work/resnet20.log")
  at_least "$worst" "$ratio" || worst=$ratio
done
at_least 1.5 "$worst" || status=1

tests/cross/aarch64.sh "$PWD" "$PWD/build/release" | tee "$work/aarch64.log" || status=1
difference=$(value_of "differ by" "$work/aarch64.log")
conclude "$status" "$size MB, first prediction after ${start% *} ms, ResNet-20 at most $worst of the full library's time, aarch64 within ${difference:-?}"
