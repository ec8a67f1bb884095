#!/usr/bin/env bash
# Dynamic network surgery on LeNet: at least 50x fewer numbers that are not zero, biases included,
# and a test accuracy on MNIST that is not below that of the dense network.
source "$(dirname "$0")/common.sh"
build_python "$out/08-5-surgery-build.log"
log=$out/08-5-surgery.log
PYTHONPATH=$PWD/build/release/python build/venv/bin/python acceptance/surgery_lenet.py \
  "${DENSE_EPOCHS:-10}" "${EPOCHS:-20}" 2>&1 | tee "$log"
status=0
dense=$(value_of "dense accuracy" "$log")
sparse=$(value_of "sparse accuracy" "$log")
ratio=$(value_of "sparser" "$log")
at_least "${sparse:-0}" "${dense:-1}" || status=1
at_least "${ratio:-0}" 50 || status=1
conclude "$status" "surgery on LeNet: ${ratio:-none}x sparser (>= 50), accuracy ${sparse:-none} (dense ${dense:-none})"
