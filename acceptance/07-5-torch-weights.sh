#!/usr/bin/env bash
# Weights of PyTorch load into ResNet-18, a bidirectional LSTM of two layers and a Transformer
# encoder: the largest difference of the outputs is at most 1e-5.
source "$(dirname "$0")/common.sh"
tools/install-deps.sh --test >"$out/07-5-build.log"
cmake --preset release -DTRIREME_UNITY=ON -DTRIREME_BUILD_TESTS=ON >/dev/null
cmake --build --preset release -j "$(nproc)" --target load_torch >>"$out/07-5-build.log"
status=0
/usr/bin/python3 tests/models/torch_weights.py build/release/bin/load_torch \
  >"$out/07-5-differences.log" || status=1
cat "$out/07-5-differences.log"
figures=()
for network in resnet18 lstm transformer_encoder; do
  figures+=("$network $(value_of "^$network .*largest difference" "$out/07-5-differences.log")")
done
networks=$(grep -c 'largest difference' "$out/07-5-differences.log") || status=1
[ "$networks" -ge 17 ] || status=1
conclude "$status" "largest differences from PyTorch: $(printf '%s, ' "${figures[@]}")all $networks networks at most 1e-5"
