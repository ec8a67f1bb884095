#!/usr/bin/env bash
# Trains ResNet-20 on CIFAR-10 for 40 epochs of the same job; the goal is an accuracy of 0.90. Takes
# about an hour on two cores. docs/how-to/training.md has the recorded accuracy, which misses.
source "$(dirname "$0")/common.sh"
build_release
status=0
"$trireme" train examples/cifar10_resnet20.toml --set train.epochs=40 --output "$out/cifar10_long" 2>&1 |
  tee "$out/cifar10_long.log"
accuracy=$(value_of "test accuracy" "$out/cifar10_long.log")
seconds=$(sed -nE 's/^trained in ([0-9.]+) s.*/\1/p' "$out/cifar10_long.log")
at_least "${accuracy:-0}" 0.90 || status=1
conclude "$status" "CIFAR-10 ${accuracy:-none} (>= 0.90) after ${seconds:-none} s"
