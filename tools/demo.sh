#!/usr/bin/env bash
# The demo: tools/demo.sh path/to/trireme. Trains the small convolutional network on Fashion-MNIST,
# prints its test accuracy and confusion matrix, and draws a sheet of test images.
set -euo pipefail
cd "$(dirname "$0")/.."
trireme=${1:-build/release/bin/trireme}
out=${TRIREME_DEMO_DIR:-build/demo}
mkdir -p "$out"

"$trireme" train examples/jobs/fashion_conv.toml --output "$out/fashion_conv" </dev/null
"$trireme" eval "$out/fashion_conv" --data fashion_mnist/test --confusion \
  --sheet "$out/fashion_conv.png" </dev/null
echo "sheet of test images, wrong ones marked: $out/fashion_conv.png"
