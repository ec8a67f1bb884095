#!/usr/bin/env bash
# Side by side with commit 802a32a, in release and with 2 threads: training of ResNet-20, the
# Transformer, sentiment and DeepFM and prediction of ResNet-18 at least 0.98 times as fast; the
# first step of a second start no later (within 2%); libtrireme_inference no larger (within 0.5%).
# Builds both: about 30 minutes. ROUNDS (7) sets the number of measurements.
source "$(dirname "$0")/common.sh"
tools/install-deps.sh
old=$PWD/build/802a32a
[ -d "$old" ] || git worktree add --detach "$old" 802a32a
targets=(trireme_cli train_case predict_case trireme_inference_shared)
for checkout in "$old" "$PWD"; do
  (
    cd "$checkout"
    CCACHE_BASEDIR=$checkout
    cmake --preset release -DTRIREME_BUILD_TESTS=OFF >/dev/null
    cmake --build --preset release -j "$(nproc)" --target "${targets[@]}" >/dev/null
  )
done
log=$out/05-6-speed.log
benchmarks/side_by_side.py "$old/build/release" build/release --rounds "${ROUNDS:-7}" | tee "$log"
status=0
figure=""
for case in resnet20 transformer sentiment deepfm resnet18; do
  ratio=$(value_of "^$case" "$log")
  at_least "${ratio:-0}" 0.98 || status=1
  figure+="$case ${ratio:-none}, "
done
start=$(value_of "first step" "$log")
size=$(value_of "inference library" "$log")
at_least 1.02 "${start:-9}" || status=1
at_least 1.005 "${size:-9}" || status=1
conclude "$status" "new / old: ${figure}time of the first step $start, inference library $size"
