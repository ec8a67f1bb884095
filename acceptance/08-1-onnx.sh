#!/usr/bin/env bash
# Of the test cases that ONNX has for its operators, at least 1,400 pass, and all whose operators
# are of the default domain, except texts, optionals and the decoding of images; the table is in
# build/acceptance/08-1-cases.txt, with the count of ONNX Runtime. Networks of PyTorch give the
# numbers of ONNX Runtime within 1e-4. Models of the bank, exported, give the numbers of Trireme in
# ONNX Runtime within 1e-5. Models of scikit-learn and networks of PaddlePaddle, imported, give the
# numbers of ONNX Runtime. Installs onnx, ONNX Runtime, PyTorch and PaddlePaddle: 1.5 GB.
source "$(dirname "$0")/common.sh"
tools/install-deps.sh --test >"$out/08-1-build.log"
cmake --preset release -DTRIREME_UNITY=ON -DTRIREME_BUILD_TESTS=ON >/dev/null
cmake --build --preset release -j "$(nproc)" \
  --target onnx_node_cases onnx_export_networks onnx_export_case trireme_cli >>"$out/08-1-build.log"
status=0
peers=build/peers-onnx
[ -d $peers ] || {
  /usr/bin/python3 -m venv $peers
  $peers/bin/pip install -q numpy torch torchvision onnx==1.23.0 onnxscript onnxruntime >"$out/08-1-pip.log" 2>&1
}
program=build/release/bin/onnx_node_cases
$peers/bin/python tests/onnx/node_cases.py $program --table --onnxruntime >"$out/08-1-cases.txt" || status=1
passed=$(sed -n 's/^\([0-9]*\) of [0-9]* cases pass.*/\1/p' "$out/08-1-cases.txt")
at_least "${passed:-0}" 1400 || status=1
$peers/bin/python tests/onnx/torch_models.py "$out/08-1-models" >"$out/08-1-export.log" 2>&1
$program "$out/08-1-models" | tee "$out/08-1-models.txt"
networks=$(grep -c '^passed' "$out/08-1-models.txt") || status=1
wrong=$(grep -vc '^passed' "$out/08-1-models.txt") || true
[ "$wrong" -eq 0 ] || status=1
tests/onnx/export.sh build/release/bin >"$out/08-1-bank.txt" 2>&1 || status=1
bank=$(grep -cE '^[a-z_0-9]+: [0-9.]+e[-+][0-9]+$' "$out/08-1-bank.txt") || status=1
tests/onnx/sklearn.sh $program >"$out/08-1-sklearn.txt" 2>&1 || status=1
sklearn=$(grep -c '^passed' "$out/08-1-sklearn.txt") || status=1
paddle=build/peers-paddle
[ -d $paddle ] || {
  /usr/bin/python3 -m venv $paddle
  $paddle/bin/pip install -q paddlepaddle==3.3.1 paddle2onnx==2.0.1 onnx==1.23.0 onnxruntime==1.32.0 >"$out/08-1-paddle-pip.log" 2>&1
}
rm -rf "$out/08-1-paddle"
$paddle/bin/python tests/onnx/paddle_models.py "$out/08-1-paddle" >"$out/08-1-paddle.log" 2>&1
$program "$out/08-1-paddle" >"$out/08-1-paddle.txt"
paddles=$(grep -c '^passed' "$out/08-1-paddle.txt") || status=1
! grep -v '^passed' "$out/08-1-paddle.txt" || status=1
conclude "$status" "$(tail -n 2 "$out/08-1-cases.txt" | paste -sd ' '); equal to ONNX Runtime: $networks networks of PyTorch ($wrong are not), $paddles of PaddlePaddle, $sklearn models of scikit-learn; $bank runs of exported networks equal Trireme"
