#!/usr/bin/env bash
# The word vectors of a classifier of sentences as product codes: the saved model is at least 16x
# smaller, and the accuracy falls by at most 0.5 points.
source "$(dirname "$0")/common.sh"
build_python "$out/08-4-embedding-build.log"
rm -rf "$out/embedding" && mkdir -p "$out/embedding"
log=$out/08-4-embedding.log
PYTHONPATH=$PWD/build/release/python build/venv/bin/python acceptance/product_embedding.py \
  "$TRIREME_DATA" "$out/embedding" 2>&1 | tee "$log"
status=0
smaller=$(value_of "smaller" "$log")
lost=$(value_of "points lost" "$log")
at_least "${smaller:-0}" 16 || status=1
at_least 0.5 "${lost:-9}" || status=1
conclude "$status" "product-quantized embedding: ${smaller:-none}x smaller (>= 16), ${lost:-none} points lost (<= 0.5)"
