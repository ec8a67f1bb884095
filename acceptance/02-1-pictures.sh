#!/usr/bin/env bash
# Trains ResNet-20 on CIFAR-10 for at most ten minutes, and a network with fewer than 100,000
# parameters on Fashion-MNIST.
source "$(dirname "$0")/common.sh"
build_release
status=0

"$trireme" train examples/cifar10_resnet20.toml --output "$out/cifar10" 2>&1 | tee "$out/cifar10.log"
accuracy=$(value_of "test accuracy" "$out/cifar10.log")
seconds=$(sed -nE 's/^trained in ([0-9.]+) s.*/\1/p' "$out/cifar10.log")
at_least "${accuracy:-0}" 0.80 || status=1
at_least 600 "${seconds:-601}" || status=1

"$trireme" train examples/fashion_small.toml --output "$out/fashion" 2>&1 | tee "$out/fashion.log"
small=$(value_of "test accuracy" "$out/fashion.log")
parameters=$(sed -nE 's/.* ([0-9,]+) parameters.*/\1/p' "$out/fashion.log" | tr -d , | head -n 1)
at_least "${small:-0}" 0.925 || status=1
at_least 99999 "${parameters:-100000}" || status=1
conclude "$status" "CIFAR-10 ${accuracy:-none} (>= 0.80) in ${seconds:-none} s (<= 600), Fashion-MNIST ${small:-none} (>= 0.925) with ${parameters:-none} parameters (< 100000)"
