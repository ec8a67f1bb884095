#!/usr/bin/env bash
# Creates the virtual environment of the peers, build/peers/venv, unless it exists: current PyTorch,
# PaddlePaddle, ONNX Runtime and OpenVINO from PyPI, and scikit-learn for tests/edges. PyPI's Linux
# wheel of PyTorch needs its CUDA libraries to import (6 GB on disk), though the benchmarks do not
# use a GPU. PEERS=FOLDER uses an existing environment.
set -euo pipefail
cd "$(dirname "$0")/../.."
venv=${PEERS:-build/peers/venv}
python=/usr/bin/python3
[ -x "$python" ] || python=python3
packages="numpy torch paddlepaddle onnx onnxscript onnxruntime openvino safetensors scikit-learn"

if [ -x "$venv/bin/python" ] && [ "$(cat "$venv/ready" 2>/dev/null)" = "$packages" ]; then
  exit 0
fi
if ! "$python" -c 'import ensurepip, sysconfig, os
assert os.path.exists(sysconfig.get_path("include") + "/Python.h")' 2>/dev/null; then
  echo "$0: needs Debian's python3-venv and python3-dev (torch.compile builds C++ against them):" >&2
  echo "  apt-get install python3-venv python3-dev" >&2
  exit 1
fi
[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
# shellcheck disable=SC2086  # a list
"$venv/bin/pip" install --quiet --no-cache-dir $packages
"$venv/bin/python" -c 'import torch; print("torch", torch.__version__)'
"$venv/bin/python" -c 'import paddle; print("paddle", paddle.__version__)'
"$venv/bin/python" -c 'import onnxruntime; print("onnxruntime", onnxruntime.__version__)'
"$venv/bin/python" -c 'import openvino; print("openvino", openvino.__version__)'
echo "$packages" > "$venv/ready"
