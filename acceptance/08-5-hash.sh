#!/usr/bin/env bash
# Several hash functions against one, in tables of equal memory: at least 0.5 points of AUC on
# Frappe, and at least 0.5 points of accuracy for the n-grams of sentences.
source "$(dirname "$0")/common.sh"
build_python "$out/08-5-hash-build.log"
log=$out/08-5-hash.log
PYTHONPATH=$PWD/build/release/python build/venv/bin/python acceptance/hashed_tables.py \
  "$TRIREME_DATA" "${SEEDS:-3}" 2>&1 | tee "$log"
status=0
clicks=$(value_of "clicks gain" "$log")
ngrams=$(value_of "n-grams gain" "$log")
at_least "${clicks:-0}" 0.5 || status=1
at_least "${ngrams:-0}" 0.5 || status=1
conclude "$status" "4 hash functions against 1: ${clicks:-none} points of AUC (>= 0.5), n-grams ${ngrams:-none} points of accuracy (>= 0.5)"
